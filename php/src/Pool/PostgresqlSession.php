<?php

declare(strict_types=1);

namespace Hearth\Pool;

/**
 * What the sessions of a pool at PostgreSQL were given by the factory, and how one is made so again after its use.
 *
 * `DISCARD ALL` undoes what was set in a session, by the factory too.
 *
 * @internal
 */
final class PostgresqlSession
{
    /** `DISCARD ALL` in its parts, as its documentation has them: so it can be sent with other statements, in one round trip. */
    private const DISCARD = 'CLOSE ALL; SET SESSION AUTHORIZATION DEFAULT; RESET ALL; DEALLOCATE ALL; UNLISTEN *; '
        . 'SELECT pg_catalog.pg_advisory_unlock_all(); DISCARD PLANS; DISCARD TEMP; DISCARD SEQUENCES';

    private const SETTINGS = "SELECT name, setting FROM pg_catalog.pg_settings WHERE source = 'session'";
    private const PLACE = "SELECT session_user, pg_catalog.current_setting('role')";

    /**
     * Learns the state of a connection that was just made, and leaves it in that.
     *
     * @param \Closure(string): list<list<?string>> $rows runs a query
     * @param \Closure(string): mixed $run runs statements, or throws
     * @param \Closure(string): string $quote makes a literal
     * @param list<string> $custom names of settings that the factory has made, which the server does not list
     * @return string the statements that reset a session
     * @throws \Throwable when the connection is of no use
     */
    public static function learn(\Closure $rows, \Closure $run, \Closure $quote, array $custom): string
    {
        $settings = \array_column($rows(self::SETTINGS), 1, 0);
        foreach ($custom as $name) {
            $value = $rows('SELECT pg_catalog.current_setting(' . $quote($name) . ', true)')[0][0];
            if ($value !== null && $value !== '') {
                $settings[$name] = $value;
            }
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

    /** What `DISCARD ALL` leaves as it is: where the random numbers of `setseed()` are. */
    public static function reseed(): string
    {
        return '; SELECT pg_catalog.setseed(' . \random_int(-999_999_999, 999_999_999) . ' / 1000000000.0)';
    }

    private static function identifier(string $name): string
    {
        return '"' . \strtr($name, ['"' => '""']) . '"';
    }
}
