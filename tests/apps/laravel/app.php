<?php

require __DIR__ . '/vendor/autoload.php';
return require __DIR__ . '/bootstrap/app.php';
