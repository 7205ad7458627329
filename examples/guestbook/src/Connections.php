<?php

declare(strict_types=1);

namespace Guestbook;

use PDO;

/**
 * Database connections of this worker: those that are free, lent to one request at a time.
 *
 * Requests of one worker run at the same time, and two of them must not talk on one connection; so each takes one from
 * the free ones, or opens another, and gives it back.
 */
final class Connections
{
    /** @var list<PDO> */
    private array $free = [];

    /** @param int $keep most connections kept open while they are not used */
    public function __construct(
        private readonly string $dsn,
        private readonly ?string $user = null,
        #[\SensitiveParameter] private readonly ?string $password = null,
        private readonly int $keep = 16,
    ) {
    }

    /**
     * @param string $url `sqlite:PATH`, `mysql://USER:PASSWORD@HOST:PORT/DATABASE` or the same with `pgsql://`
     * @throws \InvalidArgumentException when it is none of these
     */
    public static function fromUrl(#[\SensitiveParameter] string $url): self
    {
        if (\str_starts_with($url, 'sqlite:')) {
            $path = \substr($url, \strlen('sqlite:'));
            if (!\is_dir(\dirname($path))) {
                \mkdir(\dirname($path), 0770, true);
            }

            return new self("sqlite:$path");
        }
        $parts = \parse_url($url) ?: [];
        $driver = match ($parts['scheme'] ?? '') {
            'mysql', 'mariadb' => 'mysql',
            'pgsql', 'postgres', 'postgresql' => 'pgsql',
            default => null,
        };
        $database = \trim($parts['path'] ?? '', '/');
        if ($driver === null || $database === '' || !isset($parts['host'])) {
            throw new \InvalidArgumentException(
                'DATABASE_URL is not understood: use sqlite:PATH, mysql://USER:PASSWORD@HOST:PORT/DATABASE or pgsql://…',
            );
        }
        $port = isset($parts['port']) ? ";port={$parts['port']}" : '';
        $charset = $driver === 'mysql' ? ';charset=utf8mb4' : '';

        return new self(
            "$driver:host={$parts['host']}$port;dbname=$database$charset",
            \rawurldecode($parts['user'] ?? ''),
            \rawurldecode($parts['pass'] ?? ''),
        );
    }

    /**
     * Calls $work with a connection that no other task uses meanwhile.
     *
     * @template T
     * @param callable(PDO): T $work
     * @return T
     * @throws \PDOException when there is no connection to be had
     */
    public function with(callable $work): mixed
    {
        $connection = \array_pop($this->free) ?? $this->open();
        // Not given back after an exception: it may be broken, or in the middle of a transaction.
        $result = $work($connection);
        if (\count($this->free) < $this->keep) {
            $this->free[] = $connection;
        }

        return $result;
    }

    public function closeIdle(): void
    {
        $this->free = [];
    }

    private function open(): PDO
    {
        $connection = new PDO($this->dsn, $this->user, $this->password, [
            PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION,
            PDO::ATTR_DEFAULT_FETCH_MODE => PDO::FETCH_ASSOC,
            PDO::ATTR_TIMEOUT => 5,
        ]);
        if ($connection->getAttribute(PDO::ATTR_DRIVER_NAME) === 'sqlite') {
            // Readers and the one writer at the same time, also from several workers.
            $connection->exec('PRAGMA journal_mode = WAL');
            $connection->exec('PRAGMA synchronous = NORMAL');
        }

        return $connection;
    }
}
