--TEST--
A session from start to end, with the store of sessions as with files
--INI--
session.use_cookies=0
session.use_only_cookies=0
session.cache_limiter=
session.gc_probability=0
session.use_strict_mode=0
--FILE--
<?php
ob_start();
$ours = class_exists("Hearth\\Session", false);
$path = $ours ? "apart" : sys_get_temp_dir() . "/phpt-sessions-" . getmypid();
$ours || @mkdir($path);
ini_set("session.save_handler", $ours ? "hearth" : "files");
session_save_path($path);
register_shutdown_function(function () use ($ours, $path) { $ours || (array_map("unlink", glob("$path/sess_*")) && rmdir($path)); });

session_id($id = session_create_id("phpt-"));
var_dump(session_start(), $_SESSION);
$_SESSION = ["n" => 1, "list" => [1, [2, null]], "float" => 0.1, "text" => "a|b-c", "date" => new DateTimeZone("UTC")];
var_dump(session_write_close(), session_status() === PHP_SESSION_NONE);
$_SESSION = [];
session_start();
echo json_encode($_SESSION["list"]), $_SESSION["float"], strlen($_SESSION["text"]), $_SESSION["date"]->getName(), "\n";
$_SESSION["n"]++;
session_abort();
session_start();
echo $_SESSION["n"], "\n";
$_SESSION["n"] = 7;
session_reset();
echo $_SESSION["n"], "\n";
unset($_SESSION["list"], $_SESSION["date"]);
echo session_encode(), "\n";
session_commit();
var_dump(session_start(["read_and_close" => true]), session_status() === PHP_SESSION_NONE, count($_SESSION));
$_SESSION["n"] = 100;
session_start();
echo $_SESSION["n"], "\n";
var_dump(session_destroy(), session_status() === PHP_SESSION_NONE);
session_id($id);
session_start();
var_dump($_SESSION);
session_unset();
session_destroy();
--EXPECT--
bool(true)
array(0) {
}
bool(true)
bool(true)
[1,[2,null]]0.15UTC
1
1
n|i:1;float|d:0.1;text|s:5:"a|b-c";
bool(true)
bool(true)
int(3)
1
bool(true)
bool(true)
array(0) {
}
