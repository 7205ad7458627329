<?php

declare(strict_types=1);

namespace Laravel\Sanctum;

/** Of single-page apps, of which the tests have none; `config/sanctum.php` asks it for the app's own host. */
final class Sanctum
{
    public static function currentApplicationUrlWithPort(): string
    {
        $url = parse_url((string) config('app.url'));

        return isset($url['host']) ? ',' . $url['host'] . (isset($url['port']) ? ":{$url['port']}" : '') : '';
    }
}
