<?php
// The probes of `answer.php` as a page of php-fpm.
require __DIR__ . '/answer.php';

echo answer($_GET);
