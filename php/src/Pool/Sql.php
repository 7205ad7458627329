<?php

declare(strict_types=1);

namespace Hearth\Pool;

/**
 * Tells statements that may change the state of their session from those that cannot.
 *
 * It errs on the safe side: what it does not know changes something. Stored functions that are called in a SELECT and change the
 * session are not seen.
 *
 * @internal
 */
final class Sql
{
    /** What may stand before a statement. */
    private const BEFORE = '/^[\s(;]*+(?:(?:--[^\n]*+\n|#[^\n]*+\n|\/\*(?!!).*?\*\/)\s*+)*+';

    /** Statements that leave nothing behind but rows, or that the end of their transaction undoes. */
    private const CLEAN = self::BEFORE
        . '(?:select|insert|update|delete|replace|with|values|table|show|explain|describe|desc|begin|start\s+transaction|commit|rollback'
        . '|savepoint|release\s+savepoint|end|truncate|merge|analyze|create\s+table|create\s+(?:unique\s+)?index|alter\s+table|drop\s+table'
        . '|drop\s+index)\b/is';

    /** What such a statement may still do. `@` = variables of MySQL (and addresses in literals, which only costs a reset). */
    private const SUSPICIOUS = '/@|get_lock|advisory|set_config|sql_calc_found_rows|last_insert_id\s*\(\s*[^)\s]|nextval|setval|\bfunction\b'
        . '|\binto\s+(?:local\s+)?temp|pg_notify|\bdblink|;\s*\S/i';

    /** What begins or ends a transaction, of those above. */
    private const TRANSACTION = self::BEFORE . '(?:begin|start\s+transaction|commit|end|rollback(?!\s+(?:(?:work|transaction)\s+)?to\b))\b/is';

    /**
     * @var array<string, bool> what is known; to be read only, where a call would cost too much. Texts that begin or end a transaction
     *     are not in it: whoever counts those sees each of them
     */
    public static array $known = [];

    public static function changesSession(string $sql): bool
    {
        return self::$known[$sql] ?? self::judge($sql);
    }

    /** Whether it begins or ends a transaction. */
    public static function isTransactional(string $sql): bool
    {
        return \preg_match(self::TRANSACTION, $sql) === 1;
    }

    public static function beginsTransaction(string $sql): bool
    {
        return \preg_match(self::BEFORE . '(?:begin|start\s+transaction|savepoint)\b/is', $sql) === 1;
    }

    private static function judge(string $sql): bool
    {
        $changes = \preg_match(self::CLEAN, $sql) !== 1 || \preg_match(self::SUSPICIOUS, $sql) === 1;
        if (\strlen($sql) < 4096 && !self::isTransactional($sql)) {
            if (\count(self::$known) >= 1000) {
                self::$known = [];
            }
            self::$known[$sql] = $changes;
        }

        return $changes;
    }
}
