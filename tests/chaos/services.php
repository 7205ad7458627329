
// Servers that requests talk to through libraries: MariaDB, PostgreSQL, Redis, and HTTP.

$mysql = new Hearth\Pool\Pdo(getenv('MYSQL'), 'hearth', 'hearth', size: 3, minimumIdle: 0, borrowTimeout: 0.3, maxLifetime: 0.5);
$pgsql = new Hearth\Pool\Pdo(getenv('PGSQL'), size: 3, minimumIdle: 0, borrowTimeout: 0.3, maxLifetime: 0.5);
$redis = new Hearth\Pool\Redis('127.0.0.1', (int) getenv('REDIS'), 1.0, size: 3, minimumIdle: 0, borrowTimeout: 0.3, maxLifetime: 0.5);

/** What a server refuses, and a connection that is in use, broken or not to be had, are answers too. */
function served(Context $c, Closure $fn): void
{
    try {
        $fn();
    } catch (PDOException | RedisException | mysqli_sql_exception | Hearth\TimeoutError | Hearth\Pool\BorrowTimeout) {
    }
    see($c);
}

/** A task of the request that uses the connection at the same time, or is cancelled in the middle of its use. */
function beside(int $n, Closure $use): void
{
    $task = Hearth\async(function () use ($use) {
        try { $use(); } catch (Throwable) {}
    });
    usleep(300);
    $n % 2 && $task->cancel();
}

/** A statement of a pool's connection, or a transaction that keeps something in the connection's session. */
function pooled(Context $c, int $n, Closure $fn, PDO $pdo, string $select, string $set, string $get): void
{
    if ($n < 6) {
        $statement = $pdo->prepare($select);
        $statement->execute([$c->token]);
        $fn();
        own($c, $statement->fetchColumn(1));
        return;
    }
    if ($pdo->inTransaction()) {
        return;
    }
    $pdo->beginTransaction();
    $pdo->exec($set);
    $fn();
    own($c, $pdo->query($get)->fetchColumn());
    $pdo->rollBack();
}

function maria(Context $c, int $n, Closure $fn): void
{
    served($c, fn () => match ($n % 3) {
        0 => mariaPooled($c, $n, $fn),
        1 => mariaOwn($c, $n, $fn),
        default => mariaMysqli($c, $n, $fn),
    });
}

function mariaPooled(Context $c, int $n, Closure $fn): void
{
    pooled($c, $n, $fn, $GLOBALS['mysql'], 'SELECT SLEEP(0.001), ?', "SET @t = '$c->token'", 'SELECT @t');
}

function mariaOwn(Context $c, int $n, Closure $fn): void
{
    $pdo = new PDO(getenv('MYSQL'), 'hearth', 'hearth', [PDO::MYSQL_ATTR_USE_BUFFERED_QUERY => $n > 4]);
    if ($n === 7) {
        beside($n, fn () => own($c, $pdo->query("SELECT '$c->token', SLEEP(0.003)")->fetchColumn()));
    }
    $rows = $pdo->query("SELECT '$c->token' AS t UNION ALL SELECT SLEEP(0.001)");
    $rows->setFetchMode(PDO::FETCH_CLASS, Row::class, [$fn]);
    while ($row = $rows->fetch()) {
        own($c, $row->t);
        $fn();
    }
}

function mariaMysqli(Context $c, int $n, Closure $fn): void
{
    $mysqli = new mysqli('127.0.0.1', 'hearth', 'hearth', 'hearth', (int) getenv('MYSQL_PORT'));
    if ($n === 2) {
        $mysqli->query("SELECT '$c->token', SLEEP(0.001)", MYSQLI_ASYNC);
        $fn();
        $read = $error = $reject = [$mysqli];
        mysqli_poll($read, $error, $reject, 0, 5000) && own($c, json_encode($mysqli->reap_async_query()->fetch_row()));
    } elseif ($n === 5) {
        $statement = $mysqli->prepare("SELECT ? UNION ALL SELECT SLEEP(0.001)");
        $statement->execute([$c->token]);
        $statement->bind_result($text);
        while ($statement->fetch()) {
            own($c, $text);
            $fn();
        }
    } elseif ($n === 8) {
        $mysqli->multi_query("SELECT '$c->token'; SELECT SLEEP(0.001), '$c->token'");
        do {
            $result = $mysqli->use_result();
            $fn();
            own($c, json_encode($result->fetch_all()));
        } while ($mysqli->more_results() && $mysqli->next_result());
    } else {
        beside($n, fn () => own($c, json_encode($mysqli->query("SELECT '$c->token', SLEEP(0.003)")->fetch_row())));
        $fn();
        own($c, json_encode($mysqli->query("SELECT '$c->token'")->fetch_row()));
        $mysqli->close();
    }
}

function postgres(Context $c, int $n, Closure $fn): void
{
    served($c, fn () => match ($n % 3) {
        0 => postgresPooled($c, $n, $fn),
        1 => postgresOwn($c, $n, $fn),
        default => postgresFunctions($c, $n, $fn),
    });
}

function postgresPooled(Context $c, int $n, Closure $fn): void
{
    pooled($c, $n, $fn, $GLOBALS['pgsql'], 'SELECT pg_sleep(0.001), ?::text', "SET LOCAL application_name = '$c->token'", 'SHOW application_name');
}

function postgresOwn(Context $c, int $n, Closure $fn): void
{
    $pdo = new PDO(getenv('PGSQL'));
    $pdo->exec('CREATE TEMPORARY TABLE own (t text); LISTEN chaos');
    if ($n === 4) {
        $pdo->pgsqlCopyFromArray('own', [$c->token, $c->token]);
        $fn();
        own($c, json_encode($pdo->pgsqlCopyToArray('own')));
    } elseif ($n === 7) {
        $pdo->beginTransaction();
        $large = $pdo->pgsqlLOBOpen($pdo->pgsqlLOBCreate(), 'w');
        fwrite($large, $c->token);
        $fn();
        rewind($large);
        own($c, stream_get_contents($large));
        $large = null;
        $pdo->rollBack();
    } else {
        beside($n, fn () => own($c, $pdo->query("SELECT '$c->token', pg_sleep(0.003)")->fetchColumn()));
        $fn();
        $pdo->pgsqlGetNotify(PDO::FETCH_ASSOC, 3);
        own($c, $pdo->query("SELECT '$c->token'")->fetchColumn());
    }
}

function postgresFunctions(Context $c, int $n, Closure $fn): void
{
    $connection = @pg_connect(getenv('PG'));
    if (!$connection) {
        return;
    }
    if ($n === 2) {
        @pg_send_query($connection, "SELECT '$c->token'; SELECT pg_sleep(0.001), '$c->token'");
        while ($result = @pg_get_result($connection)) {
            $fn();
            own($c, json_encode(pg_fetch_all($result)));
        }
    } elseif ($n === 5) {
        @pg_query($connection, 'BEGIN; DECLARE own CURSOR FOR SELECT generate_series(1, 4)');
        $fn();
        @pg_query($connection, 'FETCH 2 FROM own');
        @pg_query($connection, 'ROLLBACK');
    } elseif ($n === 8) {
        beside($n, fn () => @pg_query($connection, 'SELECT pg_sleep(0.003)'));
        @pg_query_params($connection, 'SELECT $1::text', [$c->token]);
        $fn();
        @pg_cancel_query($connection);
    } else {
        $result = @pg_query_params($connection, 'SELECT $1::text, pg_sleep(0.001)', [$c->token]);
        $fn();
        $result && own($c, pg_fetch_result($result, 0, 0));
        pg_close($connection);
    }
}

function redis(Context $c, int $n, Closure $fn): void
{
    served($c, fn () => $n % 2 ? redisPooled($c, $n, $fn) : redisOwn($c, $n, $fn));
}

function redisPooled(Context $c, int $n, Closure $fn): void
{
    // A Fiber of another request runs as this one, on its connection: its commands would join this request's pipeline.
    if (!home($c)) {
        return;
    }
    $redis = $GLOBALS['redis'];
    $key = "chaos:$c->token";
    match ($n) {
        1 => [$redis->setex($key, 5, $c->token), $fn(), own($c, (string) $redis->get($key))],
        3 => [$redis->multi()->set($key, $c->token, 5)->get($key), $fn(), own($c, json_encode($redis->exec()))],
        5 => [$all = $redis->pipeline(), $all->setex($key, 5, $c->token), $fn(), $all->get($key), own($c, json_encode($all->exec()))],
        7 => [$redis->watch($key), $fn(), $redis->unwatch()],
        9 => $redis->xRead(["stream:$c->token" => '$'], 1, 5),
        default => [$redis->rPush("list:$c->token", $c->token), $redis->expire("list:$c->token", 5), $fn(), own($c, json_encode($redis->lRange("list:$c->token", 0, -1)))],
    };
}

function redisOwn(Context $c, int $n, Closure $fn): void
{
    $redis = new Redis();
    if (!@$redis->connect('127.0.0.1', (int) getenv('REDIS'), 1.0)) {
        return;
    }
    $key = "chaos:$c->token";
    $redis->setOption(Redis::OPT_READ_TIMEOUT, 0.05);
    if ($n === 0) {
        beside(1, fn () => $redis->blPop(['nothing'], 1));
        own($c, (string) $redis->setex($key, 5, $c->token));
    } elseif ($n === 2) {
        Hearth\async(function () use ($c) { usleep(500); $GLOBALS['redis']->publish("to:$c->token", $c->token); });
        $redis->subscribe(["to:$c->token"], function ($redis, $channel, $text) use ($c, $fn) { own($c, $text); $fn(); $redis->unsubscribe([$channel]); });
    } elseif ($n === 4) {
        $redis->setOption(Redis::OPT_SERIALIZER, Redis::SERIALIZER_PHP);
        $redis->setex($key, 5, [new Held($c->token, $fn), $c->token]);
        own($c, $redis->get($key)[1] ?? '');
    } elseif ($n === 6) {
        beside(0, fn () => own($c, json_encode($redis->eval("return '$c->token'"))));
        $fn();
        $redis->close();
    } else {
        $redis->setex($key, 5, $c->token);
        $fn();
        own($c, (string) $redis->get($key));
    }
}

function web(Context $c, int $n, Closure $fn): void
{
    $url = 'http://' . getenv('ECHO') . '/' . 100 * $n . "/$c->token";
    match ($n) {
        0 => own($c, (string) @file_get_contents($url)),
        1 => own($c, (string) @file_get_contents($url, false, stream_context_create([], ['notification' => fn () => $fn()]))),
        2 => own($c, (string) @copy($url, 'php://temp')),
        3 => own($c, json_encode(@get_headers($url))),
        4, 5 => curls($c, $url, $fn),
        6 => multi($c, $url, $fn),
        7 => uploads($c, $url, $fn),
        8 => handles($c, $url, $fn),
        9 => shares($c, $url, $fn),
        default => opens($c, $url, $fn),
    };
    see($c);
}

function handle(string $url, array $options = []): CurlHandle
{
    $curl = curl_init($url);
    curl_setopt_array($curl, $options + [CURLOPT_RETURNTRANSFER => true, CURLOPT_TIMEOUT => 1]);
    return $curl;
}

function curls(Context $c, string $url, Closure $fn): void
{
    $curl = handle($url, [CURLOPT_NOPROGRESS => false, CURLOPT_XFERINFOFUNCTION => function () use ($fn) { $fn(); return 0; },
        CURLOPT_HEADERFUNCTION => function ($curl, string $line) use ($c, $fn) { own($c, $line); $fn(); return strlen($line); }]);
    own($c, (string) curl_exec($curl));
    $copy = curl_copy_handle($curl);
    $curl = null;
    own($c, (string) curl_exec($copy));
}

function multi(Context $c, string $url, Closure $fn): void
{
    $multi = curl_multi_init();
    $all = [handle($url), handle($url)];
    array_map(fn ($curl) => curl_multi_add_handle($multi, $curl), $all);
    do {
        curl_multi_exec($multi, $running);
        $fn();
        curl_multi_select($multi, 0.01);
    } while ($running);
    foreach ($all as $curl) {
        own($c, (string) curl_multi_getcontent($curl));
        curl_multi_remove_handle($multi, $curl);
    }
}

function uploads(Context $c, string $url, Closure $fn): void
{
    $left = [$c->token, $c->token];
    $read = function () use (&$left, $fn) { $fn(); return array_shift($left) ?? ''; };
    own($c, (string) curl_exec(handle($url, [CURLOPT_UPLOAD => true, CURLOPT_INFILESIZE => 2 * strlen($c->token), CURLOPT_READFUNCTION => $read])));
}

function handles(Context $c, string $url, Closure $fn): void
{
    $curl = handle($url);
    beside(strlen($url), fn () => own($c, (string) curl_exec($curl)));
    $fn();
    own($c, (string) @curl_exec($curl));
}

function shares(Context $c, string $url, Closure $fn): void
{
    static $share;
    $share ??= curl_share_init();
    curl_share_setopt($share, CURLSHOPT_SHARE, CURL_LOCK_DATA_COOKIE);
    $curl = handle($url, [CURLOPT_SHARE => $share, CURLOPT_WRITEFUNCTION => function ($curl, string $text) use ($c, $fn) { own($c, $text); $fn(); return strlen($text); }]);
    curl_exec($curl);
}

function opens(Context $c, string $url, Closure $fn): void
{
    $socket = @stream_socket_client('tcp://' . getenv('ECHO'), $code, $text, 1, STREAM_CLIENT_CONNECT | STREAM_CLIENT_ASYNC_CONNECT);
    if (!$socket) {
        return;
    }
    [$read, $write, $except] = [[], [$socket], []];
    stream_select($read, $write, $except, 0, 5000) && @fwrite($socket, "500 $c->token\n");
    stream_set_timeout($socket, 0, 20000);
    beside(strlen($url), fn () => own($c, fgets($socket)));
    $fn();
    own($c, @fgets($socket));
}
