<?php
declare(ticks=1);
register_tick_function('probe_tick', 1);
function probe_tick(): void {}
$a = 1; $b = 2;
