<?php
function with(string $extension, Closure $code): void { if (extension_loaded($extension)) { try { @$code(); } catch (Throwable) { } } }
with('memcache', function () { $m = new Memcache; $m->addServer('127.0.0.1', 1); $m->get('x'); });
