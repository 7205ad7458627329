<?php

declare(strict_types=1);

namespace Hearth\Internal;

/**
 * Server-sent events as text.
 *
 * @internal
 */
final class Events
{
    /**
     * @internal
     * @param iterable<mixed> $events
     * @return \Generator<int, string>
     */
    public static function eventStream(iterable $events): \Generator
    {
        foreach ($events as $event) {
            yield self::eventText($event);
        }
    }

    /**
     * Returns one event in the format text/event-stream.
     *
     * @internal
     * @throws \ValueError|\JsonException
     */
    private static function eventText(mixed $event): string
    {
        if ($event === null) {
            return ":\n\n";
        }
        if (!\is_array($event)) {
            return self::eventLines('data', self::eventData($event)) . "\n";
        }
        if (\array_diff_key($event, ['data' => 1, 'event' => 1, 'id' => 1, 'retry' => 1, 'comment' => 1]) !== []) {
            throw new \ValueError('an event has data, event, id, retry and comment, not ' . \implode(', ', \array_keys($event)));
        }
        $text = isset($event['comment']) ? self::eventLines('', (string) $event['comment']) : '';
        foreach (['event', 'id'] as $field) {
            if (isset($event[$field])) {
                $value = (string) $event[$field];
                if (\strpbrk($value, "\r\n\0") !== false) {
                    throw new \ValueError("the $field of an event must not contain line breaks or NUL bytes: " . Headers::shown($value));
                }
                $text .= "$field: $value\n";
            }
        }
        if (isset($event['retry'])) {
            $text .= 'retry: ' . (int) \round($event['retry'] * 1000) . "\n";
        }
        if (\array_key_exists('data', $event)) {
            $text .= self::eventLines('data', self::eventData($event['data']));
        }

        return "$text\n";
    }

    /** @internal */
    private static function eventData(mixed $data): string
    {
        return \is_string($data) ? $data : \json_encode($data, \JSON_THROW_ON_ERROR | \JSON_UNESCAPED_SLASHES | \JSON_UNESCAPED_UNICODE);
    }

    /** @internal */
    private static function eventLines(string $field, string $text): string
    {
        $lines = '';
        foreach (\preg_split('/\r\n|\r|\n/', $text) as $line) {
            $lines .= "$field: $line\n";
        }

        return $lines;
    }
}
