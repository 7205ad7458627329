<?php

declare(strict_types=1);

/** The parameters of the pool experiment, under the names and with the defaults of the write-up that it repeats. */
final class Parameters
{
    /** Name → [default, unit, meaning]. C = number of CPUs. */
    private const TABLE = [
        'pool.enabled' => [true, 'on/off', 'one pool per worker; off: each query makes its own connection'],
        'pool.size' => ['4C', '', 'most connections per worker'],
        'pool.minimum_idle' => ['2C', '', 'connections kept open per worker'],
        'pool.idle_timeout_sec' => [30.0, 's', 'an idle one above the minimum is closed after this'],
        'pool.max_lifetime_sec' => [300.0, 's', 'a connection is replaced after this'],
        'pool.borrowing_timeout_sec' => [1.0, 's', 'longest wait for a connection'],
        'pool.returning_timeout_sec' => [0.1, 's', 'one that cannot be taken back in this time is closed'],
        'pool.max_item_reserving_for_update_waiting_time_sec' => [0.5, 's', 'longest wait for a quiet moment to replace a busy one'],
        'server.host' => ['0.0.0.0', '', 'address to listen on'],
        'server.port' => [11111, '', 'port to listen on'],
        'server.backlog' => [512, '', 'connections that may wait to be accepted'],
        'server.worker_num' => ['2C', '', 'worker processes'],
        'server.dispatch_mode' => [1, '', 'how connections are dealt to workers'],
        'server.max_connection' => ['1024C', '', 'most connections'],
        'server.worker_max_concurrency' => [1024, '', 'requests in flight per worker'],
        'scenario.query_per_request' => [2, '', 'queries per request'],
        'scenario.parallel_queries_execution' => [true, 'on/off', 'all queries of a request at once'],
        'scenario.cpu_load_per_request_min_sec' => [0.001, 's', 'least CPU time per request, after the queries were started'],
        'scenario.cpu_load_per_request_max_sec' => [0.01, 's', 'most CPU time'],
        'connection.dsn' => ['mysql:host=mysql;dbname=test', '', 'data source name of PDO'],
        'connection.username' => ['root', '', ''],
        'connection.password' => ['', '', ''],
        'connection.min_delay_sec' => [0.0, 's', 'least additional time that connecting takes'],
        'connection.max_delay_sec' => [0.0, 's', 'most additional time'],
        'connection.min_query_duration_sec' => [0.001, 's', 'least duration of a query'],
        'connection.max_query_duration_sec' => [0.01, 's', 'most duration'],
    ];

    /** The one parameter of ours: which connections of PDO the pool is asked for. */
    private const OURS = ['pool.reset' => ['auto', '', "'auto', 'transaction' or 'none': what is reset when a connection is returned"]];

    /** @param array<string, mixed> $values */
    private function __construct(private readonly array $values)
    {
    }

    /**
     * @param list<string> $arguments `--name=value`
     * @throws InvalidArgumentException that names every argument that makes no sense
     */
    public static function fromArguments(array $arguments): self
    {
        $given = [];
        $problems = [];
        foreach ($arguments as $argument) {
            if (preg_match('/^--([a-z_.]+)=(.*)$/s', $argument, $match) !== 1 || !isset(self::table()[$match[1]])) {
                $problems[] = "unknown argument: $argument";
                continue;
            }
            try {
                $given[$match[1]] = self::parse($match[1], $match[2]);
            } catch (InvalidArgumentException $error) {
                $problems[] = $error->getMessage();
            }
        }
        $self = new self($given + self::defaults());
        array_push($problems, ...$self->contradictions());
        if ($problems !== []) {
            throw new InvalidArgumentException(implode("\n", $problems));
        }

        return $self;
    }

    public static function fromJson(string $json): self
    {
        return new self(json_decode($json, true, 512, JSON_THROW_ON_ERROR));
    }

    public function toJson(): string
    {
        return json_encode($this->values, JSON_THROW_ON_ERROR | JSON_PRESERVE_ZERO_FRACTION);
    }

    public function get(string $name): mixed
    {
        return $this->values[$name] ?? throw new LogicException("no such parameter: $name");
    }

    /** All, with their units, and which are as by default. */
    public function describe(): string
    {
        $text = '';
        foreach (self::table() as $name => [, $unit]) {
            $value = $this->values[$name];
            $shown = is_bool($value) ? ($value ? 'on' : 'off') : ($name === 'connection.password' && $value !== '' ? '***' : (string) $value);
            $text .= sprintf("%-55s %s%s\n", $name, trim("$shown " . ($unit === 's' ? 's' : '')), $value === self::defaults()[$name] ? '   (default)' : '');
        }

        return $text;
    }

    /** @return array<string, array{mixed, string, string}> */
    private static function table(): array
    {
        return self::TABLE + self::OURS;
    }

    /** @return array<string, mixed> */
    private static function defaults(): array
    {
        return array_map(static fn (array $row): mixed => self::computed($row[0]), self::table());
    }

    /** A default that depends on the number of CPUs. */
    private static function computed(mixed $default): mixed
    {
        static $cpus = null;
        $cpus ??= max(1, preg_match_all('/^processor\s*:/m', (string) file_get_contents('/proc/cpuinfo')));

        return is_string($default) && preg_match('/^(\d+)C$/', $default, $match) === 1 ? (int) $match[1] * $cpus : $default;
    }

    private static function parse(string $name, string $text): mixed
    {
        $default = self::defaults()[$name];
        $value = match (true) {
            is_bool($default) => ['on' => true, '1' => true, 'true' => true, 'off' => false, '0' => false, 'false' => false][strtolower($text)] ?? null,
            is_int($default) => filter_var($text, FILTER_VALIDATE_INT, FILTER_NULL_ON_FAILURE),
            is_float($default) => filter_var($text, FILTER_VALIDATE_FLOAT, FILTER_NULL_ON_FAILURE),
            default => $text,
        };
        if ($value === null || (is_float($value) && $value < 0) || (is_int($value) && $value < 0)) {
            $kind = is_bool($default) ? 'on or off' : (is_int($default) ? 'a whole number' : 'seconds');
            throw new InvalidArgumentException("--$name must be $kind, \"$text\" given");
        }

        return $value;
    }

    /** @return list<string> */
    private function contradictions(): array
    {
        $problems = [];
        foreach (['scenario.cpu_load_per_request_%s_sec', 'connection.%s_delay_sec', 'connection.%s_query_duration_sec'] as $pattern) {
            [$min, $max] = [sprintf($pattern, 'min'), sprintf($pattern, 'max')];
            if ($this->get($min) > $this->get($max)) {
                $problems[] = "--$min ({$this->get($min)}) is more than --$max ({$this->get($max)})";
            }
        }
        if ($this->get('pool.minimum_idle') > $this->get('pool.size')) {
            $problems[] = "--pool.minimum_idle ({$this->get('pool.minimum_idle')}) is more than --pool.size ({$this->get('pool.size')})";
        }

        return $problems;
    }
}
