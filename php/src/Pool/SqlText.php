<?php

declare(strict_types=1);

namespace Hearth\Pool;

/**
 * Reads the text of a statement as the server's lexer does, so that comments, literals and quoted names hide nothing of it.
 *
 * @internal
 */
final class SqlText
{
    /** PDO's drivers of servers whose lexical rules are known. */
    private const DRIVERS = ['mysql', 'pgsql', 'sqlite'];

    /** Ends what stands for a comment, a literal or a quoted name. It counts as white space; texts that contain it are not read. */
    private const MARK = "\x01";

    /** What a text must not contain to be its own reading. */
    private const SPECIAL = '/[\x00-\x08\x0e-\x1f\x7f-\xff\'"`#$[\-\/]/';

    private const ESCAPED = '(?:[^\'\\\\]++|\\\\.|\'\')*+\'';
    private const PLAIN = '(?:[^\']++|\'\')*+\'';

    /** Comments of PostgreSQL nest. */
    private const NESTED = '(?(DEFINE)(?<c>\/\*(?:[^*\/]++|\*(?!\/)|\/(?!\*)|(?&c))*+\*\/))';

    /** E'…', and the literals that continue it on further lines; then $tag$…$tag$. */
    private const LITERALS_PGSQL = '(?<![\w$\x80-\xff])[eE](\')' . self::ESCAPED . '(?:(?:[\t-\r ]++|--[^\r\n]*+)*+\'' . self::ESCAPED . ')*+'
        . '|()(?<![\w$\x80-\xff])\$((?:[a-zA-Z_\x80-\xff][\w\x80-\xff]*+)?+)\$.*?\$\2\$';

    /** @var array<string, non-empty-list<string>> */
    private static array $patterns = [];

    /**
     * Returns the statement in lower case with comments removed, and with only the first quote left of a literal or a
     * quoted name; several times, if settings of the session decide where a literal ends.
     *
     * @return non-empty-list<?string> the usual reading first; null in place of a reading that leaves a literal or a comment open
     */
    public static function readings(string $driver, string $sql): array
    {
        if (\preg_match(self::SPECIAL, $sql) === 0) {
            return [\strtolower($sql)];
        }
        if (!self::isReadable($sql) || !\in_array($driver, self::DRIVERS, true)) {
            return [null];
        }
        $patterns = self::$patterns[$driver] ??= self::patterns($driver);
        if (!\str_contains($sql, '\\') || \preg_match('/\\\\[\'"]/', $sql) === 0) {
            $patterns = [$patterns[0]];
        }

        $readings = [];
        foreach ($patterns as $pattern) {
            $readings[] = self::reading($pattern, $sql);
        }

        return $readings;
    }

    /** Whether bytes mean the same to the server: in other character sets than UTF-8 a character may end with a quote or a backslash. */
    private static function isReadable(string $sql): bool
    {
        return \preg_match('/[\x00-\x08\x0e-\x1f\x7f]/', $sql) !== 1 && \preg_match('//u', $sql) === 1;
    }

    /** @return non-empty-list<string> for comments, literals and quoted names; that of the server's default settings first */
    private static function patterns(string $driver): array
    {
        if ($driver === 'mysql') {
            // Without and with ANSI_QUOTES, where " quotes names; then NO_BACKSLASH_ESCAPES.
            return [
                self::mysql(self::ESCAPED, \strtr(self::ESCAPED, '\'', '"')),
                self::mysql(self::ESCAPED, \strtr(self::PLAIN, '\'', '"')),
                self::mysql(self::PLAIN, \strtr(self::PLAIN, '\'', '"')),
            ];
        }
        if ($driver === 'sqlite') {
            return ['/(?|(\')' . self::PLAIN . '|(")(?:[^"]++|"")*+"|(`)(?:[^`]++|``)*+`|(\[)[^\]]*+\]|()--[^\n]*+|()\/\*.*?(?:\*\/|\z))/s'];
        }
        // With and without standard_conforming_strings.
        return [self::pgsql(self::PLAIN), self::pgsql(self::ESCAPED)];
    }

    private static function mysql(string $single, string $double): string
    {
        return '/(?|(\')' . $single . '|(")' . $double . '|(`)(?:[^`]++|``)*+`|()--(?=[\t-\r ]|\z)[^\n]*+|()#[^\n]*+|()\/\*(?![mM]?!).*?\*\/)/s';
    }

    private static function pgsql(string $single): string
    {
        return '/(?|' . self::LITERALS_PGSQL . '|(\')' . $single . '|(")(?:[^"]++|"")*+"|()--[^\r\n]*+|()(?&c))' . self::NESTED . '/s';
    }

    private static function reading(string $pattern, string $sql): ?string
    {
        $text = \preg_replace($pattern, '$1' . self::MARK, $sql);
        // A quote without its end, a comment without its end or one that MySQL executes, or a literal of $tag$.
        if ($text === null || \preg_match('/[\'"`](?!\x01)|\/\*|(?<![\w$\x80-\xff])\$(?!\d)/', $text) !== 0) {
            return null;
        }

        return \strtolower($text);
    }
}
