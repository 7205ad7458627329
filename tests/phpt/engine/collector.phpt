--TEST--
Destructors that the garbage collector runs may wait
--FILE--
<?php
$ended = [];
$make = function (int $number) use (&$ended) {
    $a = new class($number, $ended) {
        public $self;
        public function __construct(private int $number, private array &$ended) { $this->self = $this; }
        public function __destruct() { usleep(300); $this->ended[] = $this->number; }
    };
};
for ($i = 0; $i < 5; $i++) {
    $make($i);
}
$collected = gc_collect_cycles();
sort($ended);
echo implode(' ', $ended), "\n", $collected >= 5 ? 'collected' : "only $collected", "\n";
--EXPECT--
0 1 2 3 4
collected
