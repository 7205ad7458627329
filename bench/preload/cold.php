<?php

// The first 100 requests of a server, on the three routes 6:3:2: how long the first, the middle and the slowest but one took, in ms.
// usage: php cold.php PORT

declare(strict_types=1);

$paths = ['/', '/user/1', '/', '/about', '/', '/user/1', '/', '/', '/about', '/user/1', '/'];
$times = [];
for ($n = 0; $n < 100; $n++) {
    $began = hrtime(true);
    if (file_get_contents("http://127.0.0.1:$argv[1]" . $paths[$n % count($paths)]) === false) {
        exit(1);
    }
    $times[] = (hrtime(true) - $began) / 1e6;
}
$first = $times[0];
sort($times);
printf("%.1f %.1f %.1f\n", $first, $times[50], $times[98]);
