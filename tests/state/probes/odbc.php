<?php
// SQLite's driver of unixODBC.
$driver = glob('/usr/lib/*/odbc/libsqlite3odbc.so')[0] ?? null;
if (!$driver) { return; }
$file = sys_get_temp_dir() . '/probe' . getmypid() . '.sqlite';
if (extension_loaded('pdo_odbc')) {
    $pdo = new PDO("odbc:Driver=$driver;Database=$file");
    $pdo->exec('create table a (b varchar(20))');
    $pdo->prepare('insert into a values (?)')->execute(['c']);
    $pdo->query('select * from a')->fetchAll();
    try { $pdo->query('nonsense'); } catch (PDOException) {}
    $pdo = null;
}
if (extension_loaded('odbc')) {
    try {
        // Refused where requests run at the same time.
        $odbc = odbc_connect("Driver=$driver;Database=$file", '', '');
        $result = odbc_exec($odbc, 'select * from a');
        odbc_fetch_array($result);
        @odbc_exec($odbc, 'nonsense');
        odbc_error();
        odbc_errormsg();
        odbc_autocommit($odbc, false);
        odbc_rollback($odbc);
        odbc_free_result($result);
        odbc_close($odbc);
        odbc_close_all();
    } catch (Error) {
    }
}
@unlink($file);
