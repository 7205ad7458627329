<?php

declare(strict_types=1);

// The time of borrow() + giveBack() of an idle connection, in microseconds: the median of 50 times 20,000. Run by `hearth run`.

$pool = new Hearth\Pool\Pool(fn () => new stdClass(), size: 4, minimumIdle: 1);
$times = [];
for ($round = 0; $round < 50; ++$round) {
    $began = hrtime(true);
    for ($i = 0; $i < 20_000; ++$i) {
        $pool->giveBack($pool->borrow());
    }
    $times[] = (hrtime(true) - $began) / 20_000 / 1000;
}
sort($times);
printf("%.2f\n", $times[25]);
