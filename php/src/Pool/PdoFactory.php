<?php

declare(strict_types=1);

namespace Hearth\Pool;

if (!\class_exists(\PDO::class, false)) {
    return;
}

/**
 * Makes the connections of a `Pdo`, as `new PDO` would, and sets the time limit of their statements.
 *
 * @internal
 */
final class PdoFactory
{
    public readonly string $driverName;

    /**
     * @var array<int, mixed> attributes that every connection gets; they take precedence over the options of the constructor
     */
    public array $attributes = [];

    private readonly \SensitiveParameterValue $secret;

    /** @var (\Closure(\PDO): string)|null */
    private readonly ?\Closure $limit;

    /**
     * @param array<int, mixed> $options
     * @throws \PDOException|\ValueError if no connection could be made with these arguments
     */
    public function __construct(
        string $dsn,
        ?string $username,
        #[\SensitiveParameter] string|\Closure|null $password,
        private readonly array $options,
        float $queryTimeout,
    ) {
        $resolved = self::resolved($dsn);
        if (!\str_contains($resolved, ':')) {
            throw new \PDOException('PDO::__construct(): Argument #1 ($dsn) must be a valid data source name');
        }
        $this->driverName = \strtolower((string) \strstr($resolved, ':', true));
        $drivers = \PDO::getAvailableDrivers();
        if (!\in_array($this->driverName, $drivers, true)) {
            throw new \PDOException("could not find driver: \"$this->driverName\", in the DSN; there are " . \implode(', ', $drivers));
        }
        $this->limit = self::limitOfQueries($this->driverName, $queryTimeout);
        $this->secret = new \SensitiveParameterValue([$dsn, $username, $password]);
    }

    public function __invoke(): \PDO
    {
        [$dsn, $username, $password] = $this->secret->getValue();
        try {
            $pdo = new \PDO($dsn, $username, $password instanceof \Closure ? $password() : $password, $this->attributes + $this->options);
            $this->limit === null || $pdo->exec(($this->limit)($pdo));

            return $pdo;
        } catch (\PDOException $error) {
            throw self::withoutTrace($error);
        }
    }

    /**
     * Makes the function that returns the statement that limits the time of queries.
     *
     * @return (\Closure(\PDO): string)|null
     */
    private static function limitOfQueries(string $driver, float $seconds): ?\Closure
    {
        if ($seconds === 0.0) {
            return null;
        }
        if (!($seconds >= 0.001) || !\in_array($driver, ['mysql', 'pgsql'], true)) {
            throw new \ValueError("queryTimeout must be 0.001 or more seconds, of a connection to MySQL, MariaDB or PostgreSQL; $seconds of $driver given");
        }
        $milliseconds = (int) \round($seconds * 1000);

        return static fn (\PDO $pdo): string => match (true) {
            $driver === 'pgsql' => "SET statement_timeout = $milliseconds",
            \stripos((string) $pdo->getAttribute(\PDO::ATTR_SERVER_VERSION), 'maria') !== false => "SET SESSION max_statement_time = $seconds",
            default => "SET SESSION max_execution_time = $milliseconds",
        };
    }

    /** Returns the same error without its trace, whose arguments have the address, and maybe a password. */
    private static function withoutTrace(\PDOException $error): \PDOException
    {
        $same = new \PDOException($error->getMessage());
        $same->errorInfo = $error->errorInfo;
        (new \ReflectionProperty(\PDOException::class, 'code'))->setValue($same, $error->getCode());

        return $same;
    }

    /** Returns the DSN itself, if it was given by alias (php.ini) or URI. */
    private static function resolved(string $dsn): string
    {
        if (!\str_contains($dsn, ':')) {
            return (string) (\get_cfg_var("pdo.dsn.$dsn") ?: '');
        }

        return \str_starts_with($dsn, 'uri:') ? (string) @\file_get_contents(\substr($dsn, 4)) : $dsn;
    }
}
