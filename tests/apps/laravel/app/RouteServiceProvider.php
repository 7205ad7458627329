<?php

declare(strict_types=1);

namespace App;

use Illuminate\Support\Facades\Route;

final class RouteServiceProvider extends \Illuminate\Foundation\Support\Providers\RouteServiceProvider
{
    public function boot(): void
    {
        $this->routes(static fn () => Route::middleware('web')->group(base_path('routes/web.php')));
    }
}
