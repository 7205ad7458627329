<?php

declare(strict_types=1);

namespace Hearth\Tests;

/** Real databases, each started once per test run, private to it, and stopped at its end. */
final class Services
{
    /** @var array<string, array{process: resource, directory: string, address: string}> the running ones */
    private static array $running = [];

    /** @return array{string, string, string} DSN, user, password */
    public static function mariadb(): array
    {
        $socket = self::start('mariadb', 'mariadbd', static function (string $directory): array {
            // A server that starts removes other servers' temporary tables from the directory for them.
            self::run(['mariadb-install-db', '--no-defaults', "--datadir=$directory/data", "--tmpdir=$directory", '--auth-root-authentication-method=normal', '--skip-test-db']);

            return ['mariadbd', '--no-defaults', "--datadir=$directory/data", "--tmpdir=$directory", "--socket=$directory/socket", '--skip-networking', '--user=' . self::user(),
                '--max-connections=400', '--innodb-flush-log-at-trx-commit=0', "--pid-file=$directory/pid", '--innodb-buffer-pool-size=32M'];
        }, 'socket');
        $dsn = "mysql:unix_socket=$socket;charset=utf8mb4";
        self::await(static fn () => (new \PDO($dsn, 'root', ''))->exec('CREATE DATABASE IF NOT EXISTS test'));

        return ["$dsn;dbname=test", 'root', ''];
    }

    /** @return array{string, string, string} DSN, user, password */
    public static function postgresql(): array
    {
        $programs = \glob('/usr/lib/postgresql/*/bin') ?: [''];
        $bin = \end($programs);
        $socket = self::start('postgresql', "$bin/postgres", static function (string $directory) use ($bin): array {
            $as = self::user() === 'root' ? ['setpriv', '--reuid=postgres', '--regid=postgres', '--clear-groups'] : [];
            if ($as !== []) {
                \chown($directory, 'postgres');
            }
            self::run([...$as, "$bin/initdb", '-D', "$directory/data", '-U', 'test', '--auth=trust', '--no-sync', '--encoding=UTF8', '--locale=C']);

            return [...$as, "$bin/postgres", '-D', "$directory/data", '-k', $directory, '-h', '', '-F', '-N', '300'];
        }, '.s.PGSQL.5432');
        $dsn = 'pgsql:host=' . \dirname($socket) . ';dbname=postgres';
        self::await(static fn () => new \PDO($dsn, 'test', ''));

        return [$dsn, 'test', ''];
    }

    /** @return string the path of its socket */
    public static function redis(): string
    {
        $socket = self::start('redis', 'redis-server', static fn (string $directory): array => [
            'redis-server', '--port', '0', '--unixsocket', "$directory/socket", '--save', '', '--dir', $directory, '--daemonize', 'no',
        ], 'socket');
        self::await(static fn () => (new \Redis())->connect($socket));

        return $socket;
    }

    /** Ends a server at once, as a crash does; the next call of its method starts a new one. */
    public static function kill(string $name): void
    {
        $service = self::$running[$name];
        \proc_terminate($service['process'], \SIGKILL);
        \proc_close($service['process']);
        unset(self::$running[$name]);
        self::remove($service['directory']);
    }

    /** Stops a server for $seconds, or until thaw(): the kernel accepts connections for it, and no answer comes. */
    public static function freeze(string $name, ?float $seconds = null): void
    {
        $pid = self::pid($name);
        \posix_kill($pid, \SIGSTOP);
        if ($seconds !== null) {
            \pclose(\popen("(sleep $seconds; kill -CONT $pid) >/dev/null 2>&1 &", 'r'));
        }
    }

    public static function thaw(string $name): void
    {
        \posix_kill(self::pid($name), \SIGCONT);
    }

    private static function pid(string $name): int
    {
        return \proc_get_status(self::$running[$name]['process'])['pid'];
    }

    /** @param \Closure(string): list<string> $command makes the command line, given a directory */
    private static function start(string $name, string $program, \Closure $command, string $socket): string
    {
        if (isset(self::$running[$name])) {
            return self::$running[$name]['address'];
        }
        if (\trim((string) \shell_exec('command -v ' . \escapeshellarg($program))) === '') {
            \PHPUnit\Framework\Assert::markTestSkipped("$program is not installed");
        }
        $directory = \sys_get_temp_dir() . "/hearth-$name-" . \bin2hex(\random_bytes(6));
        \mkdir($directory);
        $line = $command($directory);
        $log = ['file', "$directory/log", 'a'];
        $process = \proc_open($line, [0 => ['file', '/dev/null', 'r'], 1 => $log, 2 => $log], $pipes);
        self::$running[$name] = ['process' => $process, 'directory' => $directory, 'address' => "$directory/$socket"];

        return "$directory/$socket";
    }

    /** @param list<string> $command */
    private static function run(array $command): void
    {
        $process = \proc_open($command, [1 => ['pipe', 'w'], 2 => ['redirect', 1]], $pipes);
        $output = \stream_get_contents($pipes[1]);
        if (\proc_close($process) !== 0) {
            throw new \RuntimeException(\implode(' ', $command) . " failed: $output");
        }
    }

    /** Calls until it succeeds, for up to 30 s. */
    private static function await(\Closure $call): void
    {
        for ($i = 0; ; ++$i) {
            try {
                $call();

                return;
            } catch (\PDOException | \RedisException $error) {
                if ($i === 600) {
                    throw $error;
                }
                \usleep(50_000);
            }
        }
    }

    private static function user(): string
    {
        return \posix_getpwuid(\posix_geteuid())['name'];
    }

    /** To be called outside any task: what a task registers runs when that task ends. */
    public static function stopAtTheEnd(): void
    {
        \register_shutdown_function(self::stopAll(...));
    }

    private static function stopAll(): void
    {
        foreach (self::$running as $service) {
            \proc_terminate($service['process'], \SIGKILL);
            \proc_close($service['process']);
            self::remove($service['directory']);
        }
        self::$running = [];
    }

    private static function remove(string $directory): void
    {
        foreach (new \RecursiveIteratorIterator(
            new \RecursiveDirectoryIterator($directory, \FilesystemIterator::SKIP_DOTS),
            \RecursiveIteratorIterator::CHILD_FIRST,
        ) as $file) {
            $file->isDir() && !$file->isLink() ? \rmdir($file->getPathname()) : \unlink($file->getPathname());
        }
        \rmdir($directory);
    }
}
