<?php

declare(strict_types=1);

// Starts the server of the pool experiment with the parameters of the write-up, in its own notation:
//
//     php bench/apps/pool/run.php --pool.enabled=on --pool.size=64 --scenario.query_per_request=10 …
//
// Prints all parameters, then becomes `hearth serve`. HEARTH names the program (default: hearth in the PATH).
// --defaults prints the parameters and ends.

require __DIR__ . '/parameters.php';

$arguments = array_slice($argv, 1);
$defaultsOnly = in_array('--defaults', $arguments, true);
try {
    $parameters = Parameters::fromArguments(array_values(array_diff($arguments, ['--defaults'])));
} catch (InvalidArgumentException $error) {
    fwrite(STDERR, $error->getMessage() . "\n");
    exit(2);
}
fwrite(STDERR, $parameters->describe());
if ($defaultsOnly) {
    exit(0);
}
fwrite(STDERR, sprintf(
    "at most %d connections to the database (size × workers)\nnot used by hearth serve: server.backlog, server.dispatch_mode, server.max_connection\n",
    $parameters->get('pool.size') * $parameters->get('server.worker_num'),
));

$program = getenv('HEARTH') ?: 'hearth';
if (!str_contains($program, '/')) {
    $program = trim((string) shell_exec('command -v ' . escapeshellarg($program)));
}
if (!is_executable($program)) {
    fwrite(STDERR, "hearth was not found; say where it is: HEARTH=/path/to/hearth\n");
    exit(1);
}
pcntl_exec($program, [
    'serve', __DIR__ . '/app.php',
    '--listen', $parameters->get('server.host') . ':' . $parameters->get('server.port'),
    '--workers', (string) $parameters->get('server.worker_num'),
    '--dispatch', getenv('DISPATCH') ?: 'direct',
    '--concurrency', (string) $parameters->get('server.worker_max_concurrency'),
], ['POOL_EXPERIMENT' => $parameters->toJson()] + getenv());
