
// Files that are included while their code waits, databases in files, programs with pipes, and streams of many kinds.

/** What the code of a file defines is there after `require_once`, whichever request runs this code; it waits in the middle. */
function required(Context $c, int $n, Closure $fn): void
{
    static $uses = 0, $last = 0;
    if ($uses++ % 5 === 0 && $last < 300) {
        $last++;
    }
    $name = getmypid() . "_$last";
    $file = __DIR__ . "/once-$name.php";
    is_file($file) || file_put_contents($file, requiredCode($name, $n));
    Required::$fn = $fn;
    $within = &Required::$within["$name $c->token"];
    $within++;
    try {
        $n % 2 ? require_once $file : include_once $file;
    } catch (Hearth\TimeoutError $e) {
        // The time limit of the request ends the code of the file, too.
        Required::$broken[$name] = true;
        throw $e;
    } finally {
        $within--;
    }
    // A task does not wait for a file where it cannot be left, nor for a task of its request that has started it.
    $all = defined("ONCE_$name") && function_exists("once_$name") && class_exists("Once_$name") && isset(Required::$values[$name]);
    $all || $within > 0 || isset(Required::$broken[$name]) || Excuses::$fatal || Fiber::getCurrent() || !maySuspend() || mixed('a file that was included', $c, [$name, $all]);
    if ($all) {
        "once_$name"($c->token) === $c->token . constant("ONCE_$name") || mixed('a function of a file', $c, $name);
    }
}

final class Required
{
    public static ?Closure $fn = null;
    public static array $values = [];
    public static array $within = [];
    public static array $broken = [];

    public static function wait(): void
    {
        (self::$fn)();
    }
}

function requiredCode(string $name, int $n): string
{
    $other = $n % 4 ? '' : "require_once __DIR__ . '/part-once.php';";
    return "<?php
        $other Required::wait();
        define('ONCE_$name', 'x$name');
        Required::wait();
        if (true) { function once_$name(string \$text) { return \$text . ONCE_$name; } }
        Hearth\\async(Required::wait(...));
        usleep(300);
        class Base_$name implements Countable { public function count(): int { return 1; } }
        class Once_$name extends Base_$name {}
        Required::\$values['$name'] = new Once_$name();
        Required::wait();
        return ONCE_$name;";
}

/** A database in a file; each request has a table row of its own, and bound variables that others assign to. */
final class Bound
{
    public static $text = '';
    public static $number = 0;
    public static $stream = null;
}

function fileDatabase(): PDO
{
    $pdo = new PDO('sqlite:' . __DIR__ . '/chaos.sqlite', null, null, [PDO::ATTR_TIMEOUT => 1]);
    $pdo->exec('CREATE TABLE IF NOT EXISTS bound (token TEXT, text TEXT, number INTEGER)');
    return $pdo;
}

/** What `execute()` waits for is the lock of another connection; the row has what the variables had at its beginning. */
function boundTo(Context $c, int $n, Closure $fn): void
{
    // Where the worker blocks, the task with the lock cannot go on.
    if (!maySuspend()) {
        return;
    }
    try {
        $pdo = match ($n % 3) {
            0 => fileDatabase(),
            1 => tableOf(new PDO(getenv('PGSQL'))),
            default => tableOf(new PDO(getenv('MYSQL'), 'hearth', 'hearth', [PDO::ATTR_EMULATE_PREPARES => $n > 6])),
        };
        if ($n % 3 === 0) {
            $locks = fileDatabase();
            Hearth\async(function () use ($locks, $fn) { try { $locks->exec('BEGIN IMMEDIATE'); $fn(); $locks->exec('COMMIT'); } catch (PDOException) {} });
        }
        $insert = $pdo->prepare('INSERT INTO bound (token, text, number) VALUES (:token, :text, :number)');
        $insert->bindParam(':text', Bound::$text);
        $insert->bindParam(':number', Bound::$number, PDO::PARAM_INT);
        $insert->bindValue(':token', $c->token);
        Bound::$text = "$c->token of it" . str_repeat('x', $n * 20);
        Bound::$number = crc32($c->token);
        Hearth\async(function () use ($fn) { usleep(200); Bound::$text = sealed('of another'); Bound::$number = 'no number'; $fn(); Bound::$text = null; });
        $insert->execute();
        $select = $pdo->prepare('SELECT text, number FROM bound WHERE token = ? ORDER BY 1');
        $select->execute([$c->token]);
        foreach ($select->fetchAll(PDO::FETCH_NUM) as [$text, $number]) {
            str_starts_with((string) $text, "$c->token of it") && (int) $number === crc32($c->token) || mixed('a bound variable', $c, [$text, $number]);
        }
        $pdo->exec("DELETE FROM bound WHERE token = '$c->token'");
    } catch (PDOException) {
        // The database is locked for too long, or has too many connections.
    }
    see($c);
}

function tableOf(PDO $pdo): PDO
{
    $pdo->exec('CREATE TEMPORARY TABLE bound (token VARCHAR(50), text VARCHAR(500), number BIGINT)');
    return $pdo;
}

/** What a request sets on a connection of a pool is gone for the next one, also if it leaves in the middle of a transaction. */
function handedOn(Context $c, int $n, Closure $fn): void
{
    if (!home($c)) {
        return;
    }
    served($c, function () use ($c, $n, $fn) {
        [$pool, $state] = match ($n % 3) {
            0 => [$GLOBALS['mysql'], "SELECT CONCAT_WS(' ', @chaos, @@session.sql_mode LIKE '%ANSI%', @@session.time_zone, @@autocommit, @@in_transaction)"],
            1 => [$GLOBALS['pgsql'], "SELECT current_setting('application_name') || current_setting('timezone') || (SELECT count(*) FROM pg_prepared_statements WHERE NOT from_sql) || (to_regclass('pg_temp.kept') IS NULL)"],
            default => [$GLOBALS['pdo'], "SELECT (SELECT count(*) FROM sqlite_temp_master WHERE name = 'kept') || (SELECT * FROM pragma_recursive_triggers)"],
        };
        $attributes = [PDO::ATTR_ERRMODE, PDO::ATTR_CASE, PDO::ATTR_ORACLE_NULLS, PDO::ATTR_DEFAULT_FETCH_MODE];
        $look = fn () => json_encode([array_map($pool->getAttribute(...), $attributes), $pool->query($state)->fetchColumn(), $pool->inTransaction()]);
        static $known = [];
        if ($pool->inTransaction()) {
            return;
        }
        $now = $look();
        ($known[$n % 3] ??= $now) === $now || mixed("a connection of pool " . $n % 3, $c, [$known[$n % 3], $now]);
        $pool->setAttribute(PDO::ATTR_CASE, PDO::CASE_UPPER);
        $pool->setAttribute(PDO::ATTR_DEFAULT_FETCH_MODE, PDO::FETCH_NUM);
        $pool->beginTransaction();
        $n > 6 && $pool->setAttribute(PDO::ATTR_ERRMODE, PDO::ERRMODE_SILENT);
        foreach (match ($n % 3) {
            0 => ["SET @chaos = '$c->token', time_zone = '+01:00', sql_mode = 'ANSI'", 'CREATE TEMPORARY TABLE kept (x INT)'],
            1 => ["SET application_name = '$c->token'", "SET TIME ZONE 'UTC+$n'", 'CREATE TEMPORARY TABLE kept (x INT)'],
            default => ['CREATE TEMPORARY TABLE kept (x)', 'PRAGMA recursive_triggers = 1'],
        } as $statement) {
            $pool->exec($statement);
            $fn();
        }
        $n % 4 === 0 ? $pool->rollBack() : ($n % 4 === 1 ? $pool->commit() : null);
        $pool->exec('DROP TABLE IF EXISTS kept');
    });
}
