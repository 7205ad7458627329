--TEST--
Save handlers of the app over the one of the server
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

if (!class_exists("Reversed", false)) {
final class Reversed extends SessionHandler {
    public function read(string $id): string|false { return strrev((string) parent::read($id)); }
    public function write(string $id, string $data): bool { return parent::write($id, strrev($data)); }
}
}
session_id($id = session_create_id("phpt-"));
session_set_save_handler(new Reversed, true);
session_start();
$_SESSION["n"] = [1, 2, 3];
session_write_close();
session_start();
echo json_encode($_SESSION), "\n";
var_dump(session_regenerate_id(true), json_encode($_SESSION));
session_write_close();
session_start();
echo json_encode($_SESSION), "\n";
session_destroy();
session_set_save_handler(new SessionHandler, false);
session_id(session_create_id("phpt-"));
session_start();
$_SESSION["gone"] = 1;
var_dump(session_gc() !== false);
session_write_close();
session_start();
var_dump($_SESSION["gone"]);
session_destroy();
--EXPECT--
{"n":[1,2,3]}
bool(true)
string(13) "{"n":[1,2,3]}"
{"n":[1,2,3]}
bool(true)
int(1)
