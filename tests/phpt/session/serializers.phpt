--TEST--
Each serialize handler of PHP, and objects with code of their own
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

if (!class_exists("Waits", false)) {
final class Waits implements JsonSerializable {
    public int $n = 0;
    public function __serialize(): array { usleep(200); return ["n" => $this->n + 1]; }
    public function __unserialize(array $data): void { usleep(200); $this->n = $data["n"]; }
    public function jsonSerialize(): mixed { return $this->n; }
}
}
foreach (["php", "php_binary", "php_serialize"] as $name) {
    ini_set("session.serialize_handler", $name);
    session_id(session_create_id("phpt-"));
    session_start();
    $_SESSION = ["object" => new Waits, "list" => [1, 2], "own" => "x"];
    session_write_close();
    session_start();
    echo $name, " ", json_encode($_SESSION), "\n";
    session_destroy();
}
session_id(session_create_id("phpt-"));
session_start();
$_SESSION["closure"] = fn () => 1;
try {
    session_write_close();
} catch (Exception $e) {
    echo $e->getMessage(), "\n";
}
session_id(session_create_id("phpt-"));
var_dump(session_start());
session_destroy();
--EXPECT--
php {"object":1,"list":[1,2],"own":"x"}
php_binary {"object":1,"list":[1,2],"own":"x"}
php_serialize {"object":1,"list":[1,2],"own":"x"}
Serialization of 'Closure' is not allowed
bool(true)
