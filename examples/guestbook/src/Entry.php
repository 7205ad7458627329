<?php

declare(strict_types=1);

namespace Guestbook;

/** One entry: a name and a message. */
final class Entry implements \JsonSerializable
{
    private const LONGEST_NAME = 80;
    private const LONGEST_MESSAGE = 2000;

    /** @param int $at Unix time in seconds */
    public function __construct(
        public readonly int $id,
        public readonly string $name,
        public readonly string $message,
        public readonly int $at,
    ) {
    }

    /** @param array<string, mixed> $row */
    public static function fromRow(array $row): self
    {
        return new self((int) $row['id'], (string) $row['name'], (string) $row['message'], (int) $row['written_at']);
    }

    /**
     * What is wrong with a name and a message, by field; nothing if they may be written.
     *
     * @return array<string, string>
     */
    public static function problems(mixed $name, mixed $message): array
    {
        return \array_filter([
            'name' => self::problem('The name', $name, self::LONGEST_NAME),
            'message' => self::problem('The message', $message, self::LONGEST_MESSAGE),
        ]);
    }

    /** Browsers send the ends of lines as CR LF, but count them as one character. */
    public static function normalized(mixed $text): mixed
    {
        return \is_string($text) ? \trim(\str_replace("\r\n", "\n", $text)) : $text;
    }

    /** @return array{id: int, name: string, message: string, at: string} */
    public function jsonSerialize(): array
    {
        return [
            'id' => $this->id,
            'name' => $this->name,
            'message' => $this->message,
            'at' => \gmdate(\DATE_ATOM, $this->at),
        ];
    }

    private static function problem(string $what, mixed $text, int $longest): ?string
    {
        return match (true) {
            !\is_string($text) || \trim($text) === '' => "$what is missing.",
            \preg_match('//u', $text) !== 1 => "$what is not valid UTF-8.",
            // PostgreSQL keeps no NUL, and a page shows none of the others.
            \preg_match('/[\x00-\x08\x0B\x0C\x0E-\x1F\x7F]/', $text) === 1 => "$what has control characters.",
            // Characters, as the browser counts them.
            \preg_match_all('/./su', $text) > $longest => "$what is too long: at most $longest characters.",
            default => null,
        };
    }
}
