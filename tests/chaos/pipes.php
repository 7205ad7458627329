
// Programs with pipes, pairs of sockets, and selections of several streams.

/** A program that returns what it reads; both ends of its pipes wait. */
function piped(Context $c, int $n, Closure $fn): void
{
    // Where the code cannot be left nothing writes, and the selections would block the worker for seconds.
    if (!maySuspend()) {
        return;
    }
    $process = proc_open($n % 2 ? 'cat' : ['sh', '-c', 'cat; echo end >&2; exit 3'], [['pipe', 'r'], ['pipe', 'w'], ['pipe', 'w']], $pipes, __DIR__, ['TOKEN' => $c->token]);
    if (!$process) {
        return;
    }
    [$in, $out, $errors] = $pipes;
    if ($n % 3 === 0) {
        // Its pipes and its end are left to the end of the request.
        fwrite($in, $c->token);
        $fn();
        return;
    }
    stream_set_blocking($out, $n % 5 !== 0);
    $writes = Hearth\async(function () use ($c, $in, $fn) { fwrite($in, "$c->token "); $fn(); fwrite($in, $c->token); fclose($in); });
    $text = '';
    for ($i = 0; !feof($out) && $i < 500; $i++) {
        [$read, $write, $except] = [[$out, $errors], null, null];
        if (stream_select($read, $write, $except, 0, 20000)) {
            in_array($out, $read, true) ? $text .= fread($out, 100) : fread($errors, 100);
        }
    }
    own($c, $text);
    $writes->isDone() && feof($out) && $text !== "$c->token $c->token" && mixed('a pipe', $c, $text);
    fclose($out);
    fclose($errors);
    $status = proc_get_status($process);
    $code = proc_close($process);
    $n % 2 || !$writes->isDone() || in_array(3, [$code, $status['exitcode']], true) || mixed('an exit code', $c, [$code, $status]);
    see($c);
}

function executed(Context $c, int $n, Closure $fn): void
{
    $shared = [$c->token];
    match ($n % 4) {
        0 => [exec("sleep 0.00$n; echo $c->token; echo $c->token; exit $n", $lines, $code), $lines === [$c->token, $c->token] && $code === $n || mixed('exec()', $c, [$lines, $code])],
        1 => [$pipe = popen("read x; echo $c->token", 'w'), $fn(), fwrite($pipe, "line\n"), pclose($pipe) === 0 || mixed('pclose()', $c, 0)],
        2 => [ob_start(), system("echo $c->token"), own($c, (string) ob_get_clean())],
        default => [$text = shell_exec("echo $c->token; sleep 0.001; echo $c->token"), $text === "$c->token\n$c->token\n" || mixed('shell_exec()', $c, $text)],
    };
    see($c);
}

/** Several pairs of sockets, of which some are written to while a selection of all waits. */
function selected(Context $c, int $n, Closure $fn): void
{
    // Where the code cannot be left nothing writes, and the selections would block the worker for seconds.
    if (!maySuspend()) {
        return;
    }
    $pairs = array_map(fn () => stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0), range(0, 2 + $n % 3));
    $near = array_column($pairs, 0);
    $far = array_column($pairs, 1);
    $written = $selects = false;
    Hearth\async(function () use ($c, $far, $fn, $n, &$written) {
        foreach ($far as $i => $stream) {
            $fn();
            ($i + $n) % 3 ? fwrite($stream, "$c->token of $i\n") : fclose($stream);
        }
        $written = true;
    });
    $seen = [];
    for ($left = $near, $i = 0; $left && $i < 60; $i++) {
        $selects = $written;
        [$read, $write, $except] = [$left, null, null];
        if (!@stream_select($read, $write, $except, 0, 50000)) {
            continue;
        }
        foreach ($read as $key => $stream) {
            $seen[$key] = fgets($stream);
            unset($left[$key]);
        }
    }
    foreach ($seen as $key => $line) {
        $line === (($key + $n) % 3 ? "$c->token of $key\n" : false) || mixed('a pair of sockets', $c, [$key, $line]);
    }
    $left && $selects && mixed('a selection that never ended', $c, array_keys($left));
    see($c);
}

/** Filters on filters on a wrapper whose methods wait. */
function layered(Context $c, int $n, Closure $fn): void
{
    $stream = $n % 2 ? fopen('php://temp/maxmemory:100', 'w+') : tmpfile();
    $filters = [stream_filter_append($stream, 'chaos', STREAM_FILTER_WRITE, $fn), stream_filter_append($stream, 'string.rot13', STREAM_FILTER_WRITE),
        stream_filter_append($stream, 'chaos', STREAM_FILTER_WRITE, $fn)];
    $text = str_repeat("$c->token ", 10 + $n);
    foreach (str_split($text, 70) as $part) {
        fwrite($stream, $part);
        $fn();
    }
    $removed = array_map(stream_filter_remove(...), $n % 3 ? $filters : array_reverse($filters));
    rewind($stream);
    $read = stream_get_contents($stream);
    // After a fatal error of the request the engine calls no filter of PHP code.
    str_rot13($read) === $text || (Excuses::$fatal && in_array(false, $removed, true)) || mixed('a stream with filters', $c, [$n, $read]);
    if ($n % 4) {
        $to = fopen(Source::at($fn), 'w');
        rewind($stream);
        stream_copy_to_stream($stream, $to);
    }
    $n % 5 || keep($stream);
    see($c);
}
