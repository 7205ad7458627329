<?php

// For the framework that Debian packages, and the app's own classes.

require_once 'Illuminate/autoload.php';
require_once __DIR__ . '/../app/Kernel.php';
require_once __DIR__ . '/../app/Handler.php';
require_once __DIR__ . '/../app/User.php';
require_once __DIR__ . '/../app/RouteServiceProvider.php';
