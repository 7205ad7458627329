<?php

declare(strict_types=1);

namespace Hearth\Pool;

/**
 * The state that a pool's factory gives to sessions of PostgreSQL, and how to restore it after a lease.
 *
 * `DISCARD ALL` undoes the settings of a session, also those of the factory.
 *
 * @internal
 */
final class PostgresqlSession
{
    /** The parts of `DISCARD ALL`, as in its documentation: so they can be sent with other statements, in one round trip. */
    private const DISCARD = 'CLOSE ALL; SET SESSION AUTHORIZATION DEFAULT; RESET ALL; DEALLOCATE ALL; UNLISTEN *; '
        . 'SELECT pg_catalog.pg_advisory_unlock_all(); DISCARD PLANS; DISCARD TEMP; DISCARD SEQUENCES';

    private const SETTINGS = "SELECT name, setting FROM pg_catalog.pg_settings WHERE source = 'session'";
    /** The most possible names of settings. A script that creates tables may have more; settings come first. */
    private const MOST_NAMES = 1000;
    private const PLACE = "SELECT session_user, pg_catalog.current_setting('role')";

    /**
     * Learns the state of a new connection, and leaves the connection in that state.
     *
     * @param \Closure(string): list<list<?string>> $rows runs a query
     * @param \Closure(string): mixed $run runs statements, or throws
     * @param \Closure(string): string $quote makes a literal
     * @param list<string> $custom possible names of custom settings of the factory, which the server does not list
     * @return string the statements that reset a session
     * @throws \Throwable when the connection is unusable
     */
    public static function learn(\Closure $rows, \Closure $run, \Closure $quote, array $custom): string
    {
        $settings = \array_column($rows(self::SETTINGS), 1, 0);
        if ($custom !== []) {
            $names = \implode(', ', \array_map($quote, $custom));
            $values = $rows("SELECT n, pg_catalog.current_setting(n, true) FROM pg_catalog.unnest(ARRAY[$names]::text[]) AS n");
            $settings += \array_filter(\array_column($values, 1, 0), static fn (?string $value) => $value !== null && $value !== '');
        }
        [[$user, $role]] = $rows(self::PLACE);
        $run(self::DISCARD);
        [[$login]] = $rows(self::PLACE);
        $reset = self::DISCARD;
        foreach ($settings as $name => $value) {
            $reset .= '; SELECT pg_catalog.set_config(' . $quote((string) $name) . ', ' . $quote((string) $value) . ', false)';
        }
        $reset .= $user === $login ? '' : '; SET SESSION AUTHORIZATION ' . self::identifier((string) $user);
        $reset .= $role === 'none' ? '' : '; SET ROLE ' . self::identifier((string) $role);
        $run($reset);

        return $reset;
    }

    /**
     * Finds possible names of custom settings in texts that a factory has sent: as a name, as a literal or quoted.
     *
     * @param list<string> $texts
     * @return list<string>
     */
    public static function names(array $texts): array
    {
        $names = [];
        foreach ($texts as $text) {
            \preg_match_all('/[a-z_\x80-\xff][\w$\x80-\xff]*(?:\.[a-z_\x80-\xff][\w$\x80-\xff]*)+/i', \strtr($text, ['"' => '']), $found);
            $names += \array_fill_keys($found[0], true);
        }

        return \array_slice(\array_keys($names), 0, self::MOST_NAMES);
    }

    /** Returns a statement for what `DISCARD ALL` leaves unchanged: a new seed for the random numbers of `setseed()`. */
    public static function reseed(): string
    {
        return '; SELECT pg_catalog.setseed(' . \random_int(-999_999_999, 999_999_999) . ' / 1000000000.0)';
    }

    private static function identifier(string $name): string
    {
        return '"' . \strtr($name, ['"' => '""']) . '"';
    }
}
