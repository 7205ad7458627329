<?php

declare(strict_types=1);

namespace Hearth\Internal;

/**
 * Checks and formats of header fields.
 *
 * @internal
 */
final class Headers
{
    /**
     * @internal
     * @param array<array-key, mixed> $headers
     * @return array<string, list<string>>
     * @throws \ValueError
     */
    public static function checkedHeaders(array $headers): array
    {
        $checked = [];
        foreach ($headers as $name => $value) {
            $name = (string) $name;
            $key = self::headerKey($checked, $name) ?? $name;
            $lines = self::checkedHeader($name, $value);
            $checked[$key] = isset($checked[$key]) ? [...$checked[$key], ...$lines] : $lines;
        }

        return $checked;
    }

    /**
     * @internal
     * @return list<string> the lines
     * @throws \ValueError when the name or a value contains characters that a header must not have
     */
    public static function checkedHeader(string $name, mixed $value): array
    {
        if ($name === '' || \strspn($name, "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") !== \strlen($name)) {
            throw new \ValueError('not the name of a header: ' . self::shown($name));
        }
        if (\is_string($value) && \strpbrk($value, "\r\n\0") === false) {
            return [$value];
        }
        $lines = [];
        foreach (\is_array($value) ? $value : [$value] as $line) {
            if (!\is_string($line) && !\is_int($line) && !\is_float($line)) {
                throw new \ValueError("header $name: a value must be a string or a number, " . \get_debug_type($line) . ' given');
            }
            $line = (string) $line;
            if (\strpbrk($line, "\r\n\0") !== false) {
                throw new \ValueError("header $name: a value must not contain line breaks or NUL bytes: " . self::shown($line));
            }
            $lines[] = $line;
        }
        if ($lines === []) {
            throw new \ValueError("header $name: an empty list of values; to remove it, use withoutHeader()");
        }

        return $lines;
    }

    /**
     * Returns the name under which a header is kept, ignoring case; null if it is not set.
     *
     * @internal
     * @param array<string, mixed> $headers
     */
    public static function headerKey(array $headers, string $name): ?string
    {
        if (isset($headers[$name])) {
            return $name;
        }
        foreach ($headers as $key => $_) {
            if (\strcasecmp((string) $key, $name) === 0) {
                return (string) $key;
            }
        }

        return null;
    }

    /**
     * @internal
     * @param array<array-key, mixed> $headers
     * @param array<string, list<string>> $defaults headers for names that $headers does not have
     * @return array<string, list<string>>
     */
    public static function withDefaults(array $headers, array $defaults): array
    {
        $headers = self::checkedHeaders($headers);
        foreach ($defaults as $name => $lines) {
            if (self::headerKey($headers, $name) === null) {
                $headers[$name] = $lines;
            }
        }

        return $headers;
    }

    /**
     * Returns the value of a `Set-Cookie` header.
     *
     * @internal
     * @throws \ValueError
     */
    public static function cookie(
        string $name,
        string $value,
        int|\DateTimeInterface $expires,
        string $path,
        string $domain,
        bool $secure,
        bool $httpOnly,
        string $sameSite,
    ): string {
        if ($name === '' || \strpbrk($name, "=,; \t\r\n\v\f\0") !== false) {
            throw new \ValueError('not the name of a cookie: ' . self::shown($name));
        }
        foreach (['path' => $path, 'domain' => $domain] as $what => $text) {
            if (\strpbrk($text, ",; \t\r\n\v\f\0") !== false) {
                throw new \ValueError("cookie $name: not a $what: " . self::shown($text));
            }
        }
        if (!\in_array(\strtolower($sameSite), ['', 'lax', 'strict', 'none'], true)) {
            throw new \ValueError("cookie $name: SameSite is Lax, Strict or None, not " . self::shown($sameSite));
        }
        if (!$secure && \strcasecmp($sameSite, 'none') === 0) {
            throw new \ValueError("cookie $name: browsers refuse SameSite=None without Secure");
        }
        $expires = $expires instanceof \DateTimeInterface ? $expires->getTimestamp() : $expires;
        $cookie = $name . '=' . \rawurlencode($value);
        if ($expires !== 0) {
            $cookie .= '; Expires=' . \gmdate('D, d M Y H:i:s', $expires) . ' GMT; Max-Age=' . \max(0, $expires - \time());
        }

        return $cookie
            . ($path === '' ? '' : "; Path=$path")
            . ($domain === '' ? '' : "; Domain=$domain")
            . ($secure ? '; Secure' : '')
            . ($httpOnly ? '; HttpOnly' : '')
            . ($sameSite === '' ? '' : '; SameSite=' . \ucfirst(\strtolower($sameSite)));
    }

    /**
     * Returns the value of a `Content-Disposition` header that makes the browser save the file (RFC 6266).
     *
     * @internal
     */
    public static function attachment(string $name): string
    {
        $plain = \preg_replace('/[^\x20-\x7e]|["\\\\%\/]/', '_', $name);

        return "attachment; filename=\"$plain\"" . ($plain === $name ? '' : "; filename*=UTF-8''" . \rawurlencode($name));
    }

    /**
     * Returns a string for an error message: escaped, and cut to 80 bytes.
     *
     * @internal
     */
    public static function shown(string $text): string
    {
        return '"' . \addcslashes(\strlen($text) > 80 ? \substr($text, 0, 80) . '…' : $text, "\0..\37\"\\\177") . '"';
    }
}
