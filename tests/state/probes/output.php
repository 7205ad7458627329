<?php
ob_start(); ob_start(fn ($x) => $x, 10); echo 'x'; ob_implicit_flush(true); output_add_rewrite_var('a', 'b'); header('X-A: b'); http_response_code(404);
header_register_callback(fn () => null); header_remove('X-A'); setcookie('a', 'b'); flush();
