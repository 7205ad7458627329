--TEST--
What is not changed is not written, and stays as long as what is
--INI--
session.use_cookies=0
session.use_only_cookies=0
session.cache_limiter=
session.gc_probability=0
session.use_strict_mode=0
session.lazy_write=1
--FILE--
<?php
ob_start();
$ours = class_exists("Hearth\\Session", false);
$path = $ours ? "apart" : sys_get_temp_dir() . "/phpt-sessions-" . getmypid();
$ours || @mkdir($path);
ini_set("session.save_handler", $ours ? "hearth" : "files");
session_save_path($path);
register_shutdown_function(function () use ($ours, $path) { $ours || (array_map("unlink", glob("$path/sess_*")) && rmdir($path)); });

$calls = [];
$handler = new class($calls) extends SessionHandler implements SessionUpdateTimestampHandlerInterface {
    public function __construct(private array &$calls) {}
    public function write(string $id, string $data): bool { $this->calls[] = "write"; return parent::write($id, $data); }
    public function validateId(string $id): bool { return true; }
    public function updateTimestamp(string $id, string $data): bool { $this->calls[] = "touch"; return parent::write($id, $data); }
};
session_id(session_create_id("phpt-"));
session_set_save_handler($handler, false);
foreach ([fn () => 0, fn () => $_SESSION["n"] = 1, fn () => $_SESSION["n"] = 1, fn () => $_SESSION["n"]++, fn () => $_SESSION = []] as $change) {
    session_start();
    $change();
    session_write_close();
}
echo implode(",", $calls), "\n";
session_start();
var_dump($_SESSION);
session_destroy();
// With the handler itself: what was not changed is there, too, and so is what was never written to.
ini_set("session.save_handler", $ours ? "hearth" : "files");
ini_set("session.use_strict_mode", 1);
foreach ([fn () => 0, fn () => $_SESSION["n"] = 1, fn () => 0] as $change) {
    session_id() === "" && session_id(session_create_id("phpt-"));
    session_start();
    $seen[] = session_id();
    $change();
    session_write_close();
}
echo count(array_unique($seen)), " ", json_encode($_SESSION), "\n";
session_start();
session_destroy();
--EXPECT--
write,write,touch,write,write
array(0) {
}
1 {"n":1}
