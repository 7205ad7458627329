<?php
// Databases that are there: tests/php-src/services.sh and tests/state/services.sh start them.
if (getenv('PDO_MYSQL_TEST_DSN')) {
    $pdo = new PDO(getenv('PDO_MYSQL_TEST_DSN'), 'hearth', 'hearth');
    $pdo->query('select 1')->fetchAll();
    $mysqli = mysqli_connect('127.0.0.1', 'hearth', 'hearth', 'test', (int) getenv('MYSQL_TEST_PORT'));
    mysqli_report(MYSQLI_REPORT_ALL & ~MYSQLI_REPORT_INDEX);
    try { mysqli_query($mysqli, 'nonsense'); } catch (mysqli_sql_exception) {}
    mysqli_query($mysqli, 'select 1', MYSQLI_ASYNC);
    mysqli_reap_async_query($mysqli)->fetch_all();
    $mysqli->set_charset('latin1');
    $statement = $mysqli->prepare('select ?');
    $statement->execute([1]);
    $statement->get_result()->fetch_all();
    $statement->close();
    $mysqli->close();
}
if (getenv('PDO_PGSQL_TEST_DSN')) {
    $pdo = new PDO(getenv('PDO_PGSQL_TEST_DSN'));
    $pdo->query('select 1')->fetchAll();
    $pg = pg_connect(getenv('PGSQL_TEST_CONNSTR'));
    pg_set_client_encoding($pg, 'LATIN1');
    $result = pg_query($pg, 'select 1 as a, now() as b, oid from pg_class limit 1');
    pg_field_type($result, 0);
    pg_field_type($result, 1);
    pg_field_table($result, 2);
    pg_fetch_all($result);
    @pg_query($pg, 'nonsense');
    pg_last_error($pg);
    pg_send_query($pg, 'select 1');
    pg_get_result($pg);
    pg_trace($trace = sys_get_temp_dir() . '/probe' . getmypid() . '.trace', 'w', $pg);
    pg_untrace($pg);
    unlink($trace);
    pg_close($pg);
}
if (getenv('REDIS_PORT') && extension_loaded('redis')) {
    $redis = new Redis;
    $redis->connect('127.0.0.1', (int) getenv('REDIS_PORT'));
    $redis->setOption(Redis::OPT_SERIALIZER, Redis::SERIALIZER_PHP);
    $redis->multi()->set('a', [1])->get('a')->exec();
    $redis->eval('return nonsense');
    $redis->getLastError();
    $redis->close();
}
