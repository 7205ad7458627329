<?php
function with(string $extension, Closure $code): void { if (extension_loaded($extension)) { try { @$code(); } catch (Throwable) { } } }
with('oauth', function () { (new OAuth('a', 'b'))->getRequestToken('http://127.0.0.1:1/'); });
