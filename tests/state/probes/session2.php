<?php
class ProbeHandler implements SessionHandlerInterface { function open($p, $n): bool { return true; } function close(): bool { return true; } function read($i): string { return ''; } function write($i, $d): bool { return true; } function destroy($i): bool { return true; } function gc($m): int { return 0; } }
session_set_save_handler(new ProbeHandler, true); session_start(['use_cookies' => '0', 'cache_limiter' => '']); $_SESSION['x'] = 1; session_write_close(); session_module_name(); session_id('abc'); 
