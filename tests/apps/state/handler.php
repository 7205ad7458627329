<?php
// Answers what a probe sees: at once, after it has set, or after it has set and waited for the file `go`.
$probes = require __DIR__ . '/probes.php';

function tick_of_probe(): void { $GLOBALS['ticked'] = ($GLOBALS['ticked'] ?? 0) + 1; }

$_ENV['BOOTED'] = 'by the entry script';
stream_wrapper_register('booted', ProbeWrapper::class);
stream_filter_register('booted.filter', ProbeFilter::class);

return function (Hearth\Request $request) use ($probes) {
    if ($request->query('probe') === null) {
        return implode("\n", array_keys($probes));
    }
    [$set, $see] = $probes[$name = $request->query('probe')];
    if ($request->query('do') === 'see') {
        return json_encode($see());
    }
    $set();
    $before = $see();
    if ($go = $request->query('go')) {
        touch("$go.waits");
        while (!file_exists($go)) { clearstatcache(); usleep(2000); }
    }
    return json_encode([$before, $see()]);
};
