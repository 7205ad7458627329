
stream_wrapper_register('chaos', Wrapper::class);
spl_autoload_register(function (string $class) {
    if (str_starts_with($class, 'Missing') && ($fn = Autoload::$next)) {
        Autoload::$next = null;
        $fn();
    }
});

/** Returns the value of a handler: sometimes of another type. */
function answer(Context $c, int $how): mixed
{
    if ($c->file !== null) {
        return Hearth\Response::file($c->file, $how % 3 ? null : "$c->token.txt");
    }
    if ($c->body !== null) {
        return $how % 2 ? Hearth\Response::stream(($c->body)()) : ($c->body)();
    }
    return match ($how) {
        0 => "$c->token\n",
        1 => ['t' => $c->token],
        2 => (function () use ($c) { for ($n = 0; $n < 3; $n++) { yield "$c->token\n"; nap($c, 300); } })(),
        3 => Hearth\Response::stream((function () use ($c) { yield "$c->token\n"; nap($c, 500); yield "end\n"; })()),
        4 => new Hearth\Response("$c->token\n", 201, ['X-Token' => $c->token]),
        default => null,
    };
}

return function (Hearth\Request $request) use (&$handlers) {
    if ($request->path === '/end') {
        return 'the end';
    }
    $c = new Context($request);
    $n = (int) substr($request->path, 3);
    see($c);
    say($c);
    $handlers[$n]($c);
    return answer($c, (int) $request->query('how', 9));
};
