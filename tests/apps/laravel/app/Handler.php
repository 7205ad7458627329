<?php

declare(strict_types=1);

namespace App;

final class Handler extends \Illuminate\Foundation\Exceptions\Handler
{
    protected function unauthenticated($request, \Illuminate\Auth\AuthenticationException $exception)
    {
        return response('log in first', 401);
    }
}
