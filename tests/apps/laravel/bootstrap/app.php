<?php

declare(strict_types=1);

// As of a new project, and all that the app writes in a folder of the test.

$app = new Illuminate\Foundation\Application(dirname(__DIR__));
$app->useStoragePath(sys_get_temp_dir() . '/laravel');
foreach (['APP_SERVICES_CACHE' => 'services', 'APP_PACKAGES_CACHE' => 'packages', 'APP_CONFIG_CACHE' => 'config', 'APP_ROUTES_CACHE' => 'routes', 'APP_EVENTS_CACHE' => 'events'] as $name => $file) {
    $_ENV[$name] = $_SERVER[$name] = $app->storagePath() . "/$file.php";
}
foreach (['views', 'sessions', 'uploads', 'logs'] as $folder) {
    if (!is_dir($app->storagePath() . "/$folder")) {
        mkdir($app->storagePath() . "/$folder", 0700, true);
    }
}
touch($app->storagePath() . '/app.sqlite');
$app->singleton(Illuminate\Contracts\Http\Kernel::class, App\Kernel::class);
$app->singleton(Illuminate\Contracts\Debug\ExceptionHandler::class, App\Handler::class);

return $app;
