<?php

declare(strict_types=1);

// Slim as Debian packages it: version 3 where it has no PSR-15 handler yet.

require 'Slim/autoload.php';
require __DIR__ . '/routes.php';

error_reporting(E_ALL & ~E_DEPRECATED);

$app = new Slim\App(['settings' => ['displayErrorDetails' => false]]);
routes($app);

return $app;
