<?php

declare(strict_types=1);

namespace Hearth\Pool;

use Hearth\Internal;

/**
 * The state that a pool's factory gives to sessions of MySQL or MariaDB, and how to restore it after a lease.
 *
 * COM_RESET_CONNECTION undoes the settings of a session, also those of the factory, but leaves its database and its role.
 *
 * @internal
 */
final class MysqlSession
{
    private const VARIABLES = 'SELECT VARIABLE_NAME, VARIABLE_VALUE FROM information_schema.SESSION_VARIABLES';
    private const VARIABLES_MYSQL = 'SELECT VARIABLE_NAME, VARIABLE_VALUE FROM performance_schema.session_variables';

    /** Session variables that change by themselves. */
    private const NOT_STATE = '/^(timestamp|insert_id|last_insert_id|rand_seed\d|gtid_.*|identity|warning_count|error_count|pseudo_thread_id'
        . '|last_gtid|in_transaction|in_predicate.*|proxy_user|external_user|skip_replication|rand_.*|max_user_connections)$/i';

    /**
     * Learns the state of a new connection, and leaves the connection in that state.
     *
     * @param \Closure(string): list<list<?string>> $rows runs a query
     * @param \Closure(string): mixed $run runs a statement without rows, or throws
     * @param \Closure(string): string $quote makes a literal
     * @return list<string> statements to run after COM_RESET_CONNECTION
     * @throws \Throwable when the connection is unusable
     */
    public static function learn(object $connection, \Closure $rows, \Closure $run, \Closure $quote): array
    {
        $maria = \stripos((string) $rows('SELECT VERSION()')[0][0], 'maria') !== false;
        $variables = static fn (): array => \array_column($rows($maria ? self::VARIABLES : self::VARIABLES_MYSQL), 1, 0);
        $mine = $variables();
        [[$database, $role]] = self::place($rows);
        if (!Internal\mysqlReset($connection)) {
            throw new \RuntimeException('the session cannot be reset');
        }
        $settings = self::settings(\array_diff_assoc($mine, $variables()), $quote);
        $again = self::forgetting($rows);
        $again = $database === null ? $again : [...$again, 'USE `' . \strtr($database, ['`' => '``']) . '`'];
        foreach ($again as $statement) {
            $run($statement);
        }
        $settings = self::possible($settings, $run);
        if ($settings !== []) {
            $again[] = 'SET ' . \implode(', ', $settings);
        }
        if ($role !== null) {
            $again[] = self::roleOf($role, $maria);
        }

        return $again;
    }

    /**
     * Returns statements that make a session forget what its own reset leaves: `FOUND_ROWS()`, and the statements that `SHOW PROFILES` lists.
     *
     * @param \Closure(string): list<list<?string>> $rows
     * @return non-empty-list<string>
     */
    private static function forgetting(\Closure $rows): array
    {
        $nothing = 'DO (SELECT 1 FROM DUAL WHERE 0)';
        // A statement with profiling on, after its end, leaves as many as may be kept.
        return $rows("SHOW VARIABLES LIKE 'have_profiling'") === [['have_profiling', 'YES']]
            ? ['SET profiling_history_size = 0, profiling = 1', $nothing, 'SET profiling = 0, profiling_history_size = DEFAULT'] : [$nothing];
    }

    /**
     * @param \Closure(string): list<list<?string>> $rows
     * @return list<list<?string>> the database, and the role where the server has roles
     */
    private static function place(\Closure $rows): array
    {
        try {
            return $rows("SELECT DATABASE(), COALESCE(CURRENT_ROLE(), 'NONE')");
        } catch (\Exception) {
            // MySQL 5.7 has no roles.
            return $rows('SELECT DATABASE(), NULL');
        }
    }

    private static function roleOf(string $role, bool $maria): string
    {
        // MySQL returns `role`@`host`, maybe several; MariaDB the bare name of one role.
        return 'SET ROLE ' . ($role === 'NONE' || !$maria ? $role : '`' . \strtr($role, ['`' => '``']) . '`');
    }

    /**
     * @param array<string, ?string> $values
     * @param \Closure(string): string $quote
     * @return list<string>
     */
    private static function settings(array $values, \Closure $quote): array
    {
        $settings = [];
        foreach ($values as $name => $value) {
            if (\preg_match(self::NOT_STATE, $name) === 0) {
                // A character set brings its default collation along, so collations come last.
                $rank = \stripos($name, 'collation') === 0 ? 1 : 0;
                $settings["$rank $name"] = "SESSION `$name` = " . (\is_numeric($value) ? $value : ($value === null ? 'NULL' : $quote($value)));
            }
        }
        \ksort($settings);

        return \array_values($settings);
    }

    /**
     * Applies the settings; returns those that can be set, because the factory cannot have set others either.
     *
     * @param list<string> $settings
     * @param \Closure(string): mixed $run
     * @return list<string>
     */
    private static function possible(array $settings, \Closure $run): array
    {
        return \array_values(\array_filter($settings, static function (string $setting) use ($run): bool {
            try {
                $run("SET $setting");

                return true;
            } catch (\Exception $error) {
                // Read-only, or global, or needs a privilege that the account does not have.
                return \preg_match('/read.?only|GLOBAL|privilege/i', $error->getMessage()) === 1 ? false : throw $error;
            }
        }));
    }
}
