--TEST--
Flushing, cleaning and chunked callbacks, with waits between
--FILE--
<?php
ob_start(function (string $text, int $phase): string {
    return sprintf("%d:%s;", $phase & PHP_OUTPUT_HANDLER_FINAL ? 9 : 1, $text);
});
echo 'one';
usleep(300);
ob_flush();
echo 'two';
usleep(300);
ob_clean();
echo 'three';
ob_end_flush();
--EXPECTF--
%d:one;%S9:three;
