<?php

declare(strict_types=1);

namespace Hearth\Pool;

/**
 * Tells statements of one kind of database that may change the state of their session from those that cannot.
 *
 * It errs on the safe side: an unknown statement changes something, and so do a call of an unknown function and a text that
 * cannot be read. It does not see what code of the database's own does without being called by name (triggers, rules, views,
 * defaults, operators, casts), and takes a function with the name of a built-in one for that.
 *
 * @internal
 */
final class Sql
{
    /** White space of a reading. */
    private const SPACE = '[\x01\t-\r ]';

    /** A name in a reading: of a quoted one there is only the first quote. */
    private const NAME = '(?:[0-9a-z_$\x80-\xff]++|["`\[]\x01)';

    /** Ends a keyword. */
    private const END = '(?![0-9a-z_$\x80-\xff])';

    /** What may precede a statement. */
    private const BEFORE = '/^[\x01\t-\r (;]*+';

    /** Statements that leave nothing behind but rows, or changes that the end of their transaction undoes. */
    private const CLEAN = self::BEFORE . '(?:'
        . '(?:(?:explain|describe|desc|analyze)(?:{s}++(?:analyze|verbose|extended|partitions|query{s}++plan|format{s}*+={s}*+\w++)|{s}*+\([^()]*+\))*+{s}*+)?+'
        . '(?:select|insert|update|delete|replace|with|values|table|merge){e}'
        . '|(?:explain|describe|desc){s}++{n}(?:{s}*+\.{s}*+{n})?+(?:{s}++(?:{n}|\'\x01))?+{s}*+;?+{s}*+$'
        . '|(?:show|begin|start{s}++transaction|commit|rollback|savepoint|release{s}++savepoint|end|truncate|analyze'
        . '|create{s}++table|create{s}++(?:unique{s}++)?+index|alter{s}++table|drop{s}++table|drop{s}++index){e}'
        . '|pragma{s}++[\w."\x01]++;?+{s}*+$|pragma{s}++(?:\w++\.)?+(?:table_x?info|index_x?info|index_list|foreign_key_list){s}*+\()/';

    /** Words in such a statement, besides INTO, that may change something; those of MySQL are variables, and sequences of MariaDB. */
    private const SUSPICIOUS = '/\b(?:function|procedure)\b/';
    private const SUSPICIOUS_MYSQL = '/@|\bsql_calc_found_rows\b|\bnextval\b|\b(?:next|previous){s}++value{s}++for\b/';

    /**
     * INTO after anything but INSERT, REPLACE and MERGE makes a table or sets a variable; before TEMP it makes a temporary
     * table, also where a column has the name of one of those.
     */
    private const INTO = '/\b(?:insert|ignore|replace|merge|low_priority|high_priority|delayed){s}++into\b(?!{s}++(?:(?:local|global){s}++)?+temp(?:orary)?{e})(*SKIP)(*FAIL)|\binto\b/';

    /** A statement after another one. */
    private const SECOND = '/;{s}*+[^\x01\t-\r ;]/';

    /**
     * What is followed by a parenthesis: most likely a function, or a list of columns after INTO, TABLE and the like. Captures
     * such a keyword, the qualification of the name, and the name.
     */
    private const CALLS = '/(?<![0-9a-z_$\x80-\xff"`\[])(?:(into|table|exists|references){s}++)?((?:{n}{s}*+\.{s}*+)*+)({n}){s}*+\(/';

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
    private const TRANSACTION = self::BEFORE . '(?:begin|start{s}++transaction|commit|end|rollback(?!{s}++(?:(?:work|transaction){s}++)?+to{e})){e}/';

    /** Those that begin one in a way that PDO's driver does not see, unless it is that of MySQL or PostgreSQL. */
    private const UNSEEN = self::BEFORE . '(?:begin|start|savepoint){e}/';

    /** Names by which a statement asks for what the session remembers; looked for in the text itself, so also in quoted names. */
    private const MEMORIES = [
        'mysql' => '/\b(?:last_insert_id|found_rows|row_count|lastval|currval)\b|@@[^,;()]*\b(?:identity|warning_count|error_count)\b|\/\*[mM]?!.*\b(?:warnings|errors|diagnostics|previous)\b/s',
        'pgsql' => '/\b(?:lastval|currval)\b|u&"/',
        'sqlite' => '/(?<!into )\b(?:total_)?changes\b["`\]]?(?:\s|--[^\n]*+\n|\/\*.*?\*\/)*+\(/s',
    ];

    /** The same in a reading. */
    private const SHOWS_MEMORIES = '/^[\x01\t-\r (;]*+(?:show{s}++(?:count|warnings|errors){e}|get{s}.*\bdiagnostics\b)|\bprevious{s}++value{s}++for\b/s';

    /** What `DISCARD ALL` leaves: connections of dblink, a backup, a library. */
    private const LASTING_PGSQL = '/\b(?:load|dblink_connect(?:_u)?|pg_(?:backup_start|start_backup))\b/';

    /** What `judge()` tells of a statement: it may change the state of its session, */
    public const CHANGES = 1;

    /** it begins or ends a transaction, */
    public const SETTLES = 2;

    /** it asks for something that the session remembers of earlier statements, maybe of another lease. */
    public const RECALLS = 4;

    /** it may insert rows, or change some, */
    public const WRITES = 8;

    /** it may leave something that no reset restores. */
    public const LASTS = 16;

    /** Statements that only read. */
    private const READS = self::BEFORE . '(?:select|show|values|table|begin|start|commit|rollback|savepoint|release|end){e}/';

    /**
     * @var array<string, int> of CHANGES and WRITES, by statement; to be read only, where a call would cost too much. Statements
     *     with other effects are left out: what acts on those must see each
     */
    public array $known = [];

    /** @var array<string, self> by the name of PDO's driver */
    private static array $all = [];

    /** @var array<string, true> */
    private readonly array $harmless;

    /** @var array<string, string> */
    private static array $patterns = [];

    private function __construct(private readonly string $driver)
    {
        $this->harmless = \array_fill_keys(\explode(' ', \trim(self::KNOWN)), true);
    }

    public static function of(string $driver): self
    {
        return self::$all[$driver] ??= new self($driver);
    }

    /** @return int of CHANGES, SETTLES, RECALLS, WRITES and LASTS */
    public function judge(string $sql): int
    {
        $readings = SqlText::readings($this->driver, $sql);
        $lower = \strtolower($sql);
        $changes = self::namesState($lower) || $this->mayChange($readings);
        $others = (self::has(self::TRANSACTION, $readings[0] ?? '') ? self::SETTLES : 0) | ($this->recalls($lower, $readings[0] ?? '') ? self::RECALLS : 0)
            | ($changes && $this->lasts($lower) ? self::LASTS : 0);
        $effects = ($changes ? self::CHANGES : 0) | (self::has(self::READS, $readings[0] ?? '') ? 0 : self::WRITES);
        if ($others === 0 && \strlen($sql) < 4096) {
            if (\count($this->known) >= 1000) {
                $this->known = [];
            }
            $this->known[$sql] = $effects;
        }

        return $others | $effects;
    }

    /**
     * Whether a statement that changes its session names something that stays changed: a PRAGMA that SqliteSession does not compare,
     * or what `DISCARD ALL` leaves.
     */
    private function lasts(string $lower): bool
    {
        if ($this->driver === 'pgsql') {
            return self::has(self::LASTING_PGSQL, $lower);
        }
        if ($this->driver !== 'sqlite' || !\str_contains($lower, 'pragma')) {
            return false;
        }
        // Where a comment or a quote hides the name, it is an unknown one.
        \preg_match_all('/\bpragma\b(?:\s++(?:\w++\.)?+(\w++))?+/', $lower, $found);

        return \array_diff($found[1], SqliteSession::PRAGMAS, SqliteSession::STATELESS) !== [];
    }

    /** @param non-empty-list<?string> $readings */
    private function mayChange(array $readings): bool
    {
        foreach ($readings as $index => $text) {
            // The server refuses a statement that its settings leave open; only the usual settings are certain.
            if ($text === null ? $index === 0 : $this->readingMayChange($text)) {
                return true;
            }
        }

        return false;
    }

    private function readingMayChange(string $text): bool
    {
        return !self::has(self::CLEAN, $text) || self::has(self::SUSPICIOUS, $text)
            || (\str_contains($text, ';') && self::has(self::SECOND, $text))
            || (\str_contains($text, 'into') && self::has(self::INTO, $text))
            || ($this->driver === 'mysql' && self::has(self::SUSPICIOUS_MYSQL, $text))
            || ($this->driver !== 'mysql' && $this->driver !== 'pgsql' && self::has(self::UNSEEN, $text))
            || $this->callsUnknown($text);
    }

    private function recalls(string $lower, string $text): bool
    {
        return isset(self::MEMORIES[$this->driver])
            && (self::has(self::MEMORIES[$this->driver], $lower) || ($this->driver === 'mysql' && self::has(self::SHOWS_MEMORIES, $text)));
    }

    /** Whether the statement has the name, maybe quoted, of something that belongs to its session; `u&"` = a name that cannot be read. */
    private static function namesState(string $lower): bool
    {
        return \str_contains($lower, 'pg_temp') || \str_contains($lower, 'pg_settings') || \str_contains($lower, 'u&"')
            || (\str_contains($lower, 'temp') && \preg_match('/\bcreate\b/', $lower) !== 0);
    }

    /** Whether the statement may call a function that is not known to change nothing. */
    private function callsUnknown(string $text): bool
    {
        if (\preg_match_all(self::$patterns[self::CALLS] ??= self::pattern(self::CALLS), $text, $calls, \PREG_SET_ORDER) === false) {
            return true;
        }
        foreach ($calls as [, $keyword, $qualification, $name]) {
            if ($keyword === '' && ($qualification !== '' || !isset($this->harmless[$name]))) {
                return true;
            }
        }

        return false;
    }

    /** Whether the text has a part that matches; also if PCRE gives up. */
    private static function has(string $pattern, string $text): bool
    {
        return \preg_match(self::$patterns[$pattern] ??= self::pattern($pattern), $text) !== 0;
    }

    private static function pattern(string $pattern): string
    {
        return \strtr($pattern, ['{s}' => self::SPACE, '{n}' => self::NAME, '{e}' => self::END]);
    }
}
