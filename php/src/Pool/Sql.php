<?php

declare(strict_types=1);

namespace Hearth\Pool;

/**
 * Tells statements that may change the state of their session from those that cannot.
 *
 * It errs on the safe side: an unknown statement changes something, and so does a call of an unknown function. It does not
 * see what triggers, rules and the definitions of views do.
 *
 * @internal
 */
final class Sql
{
    /** Text that may precede a statement. Not a comment that MySQL executes (`/*!`, `/*M!`). */
    private const BEFORE = '/^[\s(;]*+(?:(?:--[^\n]*+\n|#[^\n]*+\n|\/\*(?!M?!).*?\*\/)\s*+)*+';

    /** Statements that leave nothing behind but rows, or changes that the end of their transaction undoes. */
    private const CLEAN = self::BEFORE
        . '(?:select|insert|update|delete|replace|with|values|table|show|explain|describe|desc|begin|start\s+transaction|commit|rollback'
        . '|savepoint|release\s+savepoint|end|truncate|merge|analyze|create\s+table|create\s+(?:unique\s+)?index|alter\s+table|drop\s+table'
        . '|drop\s+index|pragma\s+[\w.]+\s*;?\s*$|pragma\s+(?:\w+\.)?(?:table_x?info|index_x?info|index_list|foreign_key_list)\s*\()/is';

    /**
     * Parts of such a statement that may change something. `@` = variables of MySQL (and addresses in literals, which only
     * costs a reset); `u&"` = a name of PostgreSQL that cannot be read; INTO after anything but INSERT, REPLACE and MERGE
     * makes a table or sets a variable.
     */
    private const SUSPICIOUS = '/@|\/\*M?!|sql_calc_found_rows|pg_temp|pg_settings|u&"|\bfunction\b|\bprocedure\b|;\s*\S'
        . '|(?<!\binsert)(?<!\bignore)(?<!\breplace)(?<!\bmerge)(?<!_priority)(?<!\bdelayed)\s+into\b/i';

    /** A name that is followed by a parenthesis: most likely a function, and a list of columns after INTO, TABLE and the like. */
    private const CALLS = '/(?<![\w$])(?<!\binto\s)(?<!\btable\s)(?<!\bexists\s)(?<!\breferences\s)("(?:[^"]|"")+"|`(?:[^`]|``)+`|[a-z_$\x80-\xff][\w$\x80-\xff]*)\s*+\(/i';

    /** Keywords and types that a parenthesis may follow, and functions that change nothing. */
    private const KNOWN = ' abs acos adddate addtime age all and any array array_agg array_append array_cat array_length array_position array_prepend '
        . 'array_remove array_to_json array_to_string as asc ascii asin atan atan2 avg between bigint bin binary bit bit_and bit_count bit_length bit_or '
        . 'bit_xor bool_and bool_or btree btrim by cardinality case cast ceil ceiling char char_length character character_length charset check chr '
        . 'clob coalesce collate column concat concat_ws conflict connection_id constraint conv convert convert_tz cos cot count crc32 cume_dist '
        . 'curdate current_database current_date current_schema current_time current_timestamp current_user curtime data database date date_add '
        . 'date_diff date_format date_part date_sub date_trunc datediff datetime dayname dayofmonth dayofweek dayofyear decimal decode default degrees '
        . 'delete dense_rank desc distinct div double elt else encode enum every except exists exp explain extract extractvalue field filter '
        . 'find_in_set first_value float floor following for foreign foreign_key_list format from from_base64 from_days from_unixtime fulltext gen_random_uuid '
        . 'generate_series glob greatest group group_concat grouping hash having hex hour if ifnull iif in index index_info index_list index_xinfo inet_aton inet_ntoa '
        . 'inet6_aton inet6_ntoa initcap inner instr int integer intersect interval is is_ipv4 is_ipv6 isnull join json json_agg json_array '
        . 'json_arrayagg json_array_append json_array_elements json_array_insert json_array_length json_build_array json_build_object json_compact '
        . 'json_contains json_contains_path json_depth json_detailed json_each json_each_text json_exists json_extract json_extract_path '
        . 'json_extract_path_text json_insert json_keys json_length json_merge json_merge_patch json_merge_preserve json_object json_object_agg '
        . 'json_objectagg json_overlaps json_query json_quote json_remove json_replace json_search json_set json_table json_type json_unquote '
        . 'json_valid json_value jsonb_agg jsonb_array_elements jsonb_array_elements_text jsonb_array_length jsonb_build_array jsonb_build_object '
        . 'jsonb_each jsonb_each_text jsonb_extract_path jsonb_extract_path_text jsonb_insert jsonb_object_agg jsonb_object_keys jsonb_path_exists '
        . 'jsonb_path_query jsonb_pretty jsonb_set jsonb_strip_nulls jsonb_typeof julianday justify_days justify_hours key lag last_day last_value '
        . 'lateral lcase lead least left length less like limit ln local localtime localtimestamp locate log log10 log2 lower lpad ltrim make_date '
        . 'make_interval make_set make_time make_timestamp makedate maketime match materialized max md5 microsecond mid min minute mod month monthname '
        . 'natural not now nth_value ntile nullif num_nonnulls num_nulls numeric nvl octet_length offset on only or ord order over overlaps '
        . 'overlay partition percent_rank percentile_cont percentile_disc period_add period_diff pg_backend_pid pg_get_serial_sequence pg_sleep '
        . 'pg_table_size pg_total_relation_size pg_relation_size pg_typeof pi position pow power precision primary quarter quote quote_ident '
        . 'quote_literal quote_nullable radians random range rank real recursive regexp regexp_instr regexp_like regexp_match regexp_matches regexp_replace '
        . 'regexp_split_to_array regexp_split_to_table regexp_substr repeat replace returning reverse right rlike rollup round row row_number '
        . 'row_to_json rows rpad rtrim schema sec_to_time second select session_user set sets sha sha1 sha2 sha224 sha256 sha384 sha512 sign sin '
        . 'sleep smallint some soundex space spatial split_part sqrt starts_with std stddev stddev_pop stddev_samp str_to_date strcmp strftime '
        . 'string_agg string_to_array strpos subdate substr substring substring_index subtime sum sysdate system_user table_info table_xinfo tablesample tan text '
        . 'then time time_format time_to_sec timediff timestamp timestampadd timestampdiff timestamptz tinyint to_ascii to_base64 to_char to_date '
        . 'to_days to_hex to_json to_jsonb to_number to_seconds to_timestamp to_tsquery to_tsvector total translate trim trunc truncate ts_headline ts_rank '
        . 'txid_current typeof ucase uncompress unhex unicode union unique unix_timestamp unixepoch unnest upper user using utc_date utc_time '
        . 'utc_timestamp uuid uuid_generate_v4 values var_pop var_samp varbinary varchar variance version week weekday weekofyear weight_string when where window '
        . 'with within xor year yearweek ';

    /** Those statements that begin or end a transaction. */
    private const TRANSACTION = self::BEFORE . '(?:begin|start\s+transaction|commit|end|rollback(?!\s+(?:(?:work|transaction)\s+)?to\b))\b/is';

    /**
     * @var array<string, bool> judgements by statement; to be read only, where a call would cost too much. Statements that
     *     begin or end a transaction are left out: the code that counts those must see each of them
     */
    public static array $known = [];

    /** @var array<string, true>|null */
    private static ?array $harmless = null;

    public static function changesSession(string $sql): bool
    {
        return self::$known[$sql] ?? self::judge($sql);
    }

    /** Whether the statement begins or ends a transaction. */
    public static function isTransactional(string $sql): bool
    {
        return \preg_match(self::TRANSACTION, $sql) === 1;
    }

    /** Whether the statement asks for something that the session remembers of earlier statements, maybe of another lease. */
    public static function recalls(string $sql): bool
    {
        return \preg_match('/\b(?:last_insert_id|found_rows|row_count|lastval|currval)\b|\bshow\s+(?:count|warnings|errors)\b|@@(?:identity|last_insert_id|warning_count|error_count)/i', $sql) === 1;
    }

    public static function beginsTransaction(string $sql): bool
    {
        return \preg_match(self::BEFORE . '(?:begin|start\s+transaction|savepoint)\b/is', $sql) === 1;
    }

    private static function judge(string $sql): bool
    {
        $changes = \preg_match(self::CLEAN, $sql) !== 1 || \preg_match(self::SUSPICIOUS, $sql) !== 0 || self::callsUnknown($sql);
        if (\strlen($sql) < 4096 && !self::isTransactional($sql)) {
            if (\count(self::$known) >= 1000) {
                self::$known = [];
            }
            self::$known[$sql] = $changes;
        }

        return $changes;
    }

    /** Whether the statement may call a function that is not known to change nothing. */
    private static function callsUnknown(string $sql): bool
    {
        self::$harmless ??= \array_fill_keys(\explode(' ', \trim(self::KNOWN)), true);
        if (\preg_match_all(self::CALLS, $sql, $calls, \PREG_OFFSET_CAPTURE) === false) {
            return true;
        }
        foreach ($calls[1] as [$name, $at]) {
            $isKnown = isset(self::$harmless[\strtolower($name)]) && ($at === 0 || $sql[$at - 1] !== '.');
            if (!$isKnown && \preg_match('/\b(?:into|table|exists|references|update)\s+(?:[\w$"`]+\s*\.\s*)?$/i', \substr($sql, 0, $at)) !== 1) {
                return true;
            }
        }

        return false;
    }
}
