<?php

declare(strict_types=1);

// usage: php percentiles.php RESULT.json        prints "P50 P99 P99.9 FAILED" of one `hearth load`, in milliseconds

$run = json_decode((string) file_get_contents($argv[1]), true, flags: JSON_THROW_ON_ERROR)['runs'][0];
$response = $run['latency']['response'];
printf("%.4f %.4f %.4f %d\n", $response['p50_us'] / 1e3, $response['p99_us'] / 1e3, $response['p99_9_us'] / 1e3, $run['counts']['failed'] + $run['counts']['unfinished'] + $run['counts']['unsent']);
