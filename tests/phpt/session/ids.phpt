--TEST--
New ids, strict mode, and ids that are none
--INI--
session.use_cookies=0
session.use_only_cookies=0
session.cache_limiter=
session.gc_probability=0
session.use_strict_mode=1
--FILE--
<?php
ob_start();
$ours = class_exists("Hearth\\Session", false);
$path = $ours ? "apart" : sys_get_temp_dir() . "/phpt-sessions-" . getmypid();
$ours || @mkdir($path);
ini_set("session.save_handler", $ours ? "hearth" : "files");
session_save_path($path);
register_shutdown_function(function () use ($ours, $path) { $ours || (array_map("unlink", glob("$path/sess_*")) && rmdir($path)); });

session_id("phpt-never-made");
session_start();
var_dump(session_id() === "phpt-never-made", strlen(session_id()) >= 22);
$_SESSION["kept"] = 1;
$first = session_id();
session_write_close();
session_start();
var_dump(session_id() === $first, $_SESSION["kept"]);
var_dump(session_regenerate_id());
$second = session_id();
var_dump($second !== $first, $_SESSION["kept"]);
$_SESSION["kept"] = 2;
session_write_close();
session_id($first);
session_start();
var_dump(session_id() === $first, $_SESSION["kept"]);
session_write_close();
session_id($second);
session_start();
var_dump($_SESSION["kept"], session_regenerate_id(true));
$third = session_id();
$new = session_create_id("a-");
var_dump(str_starts_with($new, "a-"), session_id() === $third);
session_write_close();
session_id($second);
session_start();
var_dump(session_id() === $second, $_SESSION);
session_destroy();
session_id($third);
session_start(["read_and_close" => true]);
var_dump(session_id() === $third, $_SESSION["kept"]);
session_id($first);
session_start();
session_destroy();
ini_set("session.use_strict_mode", 0);
foreach (["not/an/id", str_repeat("a", 300)] as $bad) {
    session_id($bad);
    var_dump(@session_start());
    echo preg_replace("/: (files|hearth).*/", "", error_get_last()["message"]), "\n";
}
--EXPECT--
bool(false)
bool(true)
bool(true)
int(1)
bool(true)
bool(true)
int(1)
bool(true)
int(1)
int(2)
bool(true)
bool(true)
bool(true)
bool(false)
array(0) {
}
bool(true)
int(2)
bool(false)
session_start(): Failed to read session data
bool(false)
session_start(): Failed to read session data
