<?php

declare(strict_types=1);

// The entry script: runs once, before the server accepts requests, and returns what is called for each of them.

namespace Guestbook;

use Hearth\Request;
use Hearth\Response;

foreach (['Connections', 'Entry', 'Entries', 'Page', 'Guestbook'] as $class) {
    require __DIR__ . "/src/$class.php";
}

$connections = Connections::fromUrl(\getenv('DATABASE_URL') ?: 'sqlite:' . __DIR__ . '/var/guestbook.sqlite');
$entries = new Entries($connections);
$entries->migrate();
// No connection may be open when this script ends: the workers are copies of this process, and two processes on one
// connection would garble it. Each worker opens its own.
$connections->closeIdle();

$guestbook = new Guestbook($entries);

return function (Request $request) use ($guestbook): Response|string {
    return $guestbook->handle($request);
};
