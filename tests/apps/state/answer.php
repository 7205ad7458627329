<?php
// What a probe sees, as JSON: at once (`do=see`), after it has set, or after it has set and waited for the file `go`. Without `probe`
// the names of all, one a line, behind each what the table of engine state says of it where it is shared.

final class ProbeWrapper
{
    public $context;
    private string $text = '';
    private int $at = 0;
    public function stream_open(string $path): bool { usleep(1000); $this->text = "text of $path"; return true; }
    public function stream_read(int $count): string { $piece = substr($this->text, $this->at, $count); $this->at += strlen($piece); return $piece; }
    public function stream_eof(): bool { return $this->at >= strlen($this->text); }
    public function stream_stat(): array { return []; }
}

final class ProbeFilter extends php_user_filter {}

function tick_of_probe(): void { $GLOBALS['ticked'] = ($GLOBALS['ticked'] ?? 0) + 1; }

// By the entry script: what every request begins with.
$_ENV['BOOTED'] = 'by the entry script';
putenv('BOOTED=by the entry script');
stream_wrapper_register('booted', ProbeWrapper::class);
stream_filter_register('booted.filter', ProbeFilter::class);

/** @return array<string, array{0: Closure, 1: Closure, 2?: string, 3?: Closure}> by name: what changes state, what looks at it, the row of the
    table of what is shared, and what takes it away */
function probes(): array
{
    static $all;

    return $all ??= array_merge(...array_map(static fn (string $file): array => require $file, glob(__DIR__ . '/probes/*.php')));
}

/** @param array<string, string> $query */
function answer(array $query): string
{
    if (!isset($query['probe'])) {
        $lines = array_map(static fn (string $name, array $probe): string => $name . "\t" . ($probe[2] ?? ''), array_keys(probes()), probes());

        return implode("\n", $lines);
    }
    [$set, $see] = $probe = probes()[$query['probe']];
    switch ($query['do'] ?? '') {
        case 'see':
            return json_encode($see());
        case 'clear':
            return json_encode(isset($probe[3]) ? $probe[3]() : null);
    }
    $set();
    $before = $see();
    if ($go = $query['go'] ?? '') {
        touch("$go.waits");
        while (!file_exists($go)) { clearstatcache(); usleep(2000); }
    }
    $after = $see();
    http_response_code(200);

    return json_encode([$before, $after]);
}
