--TEST--
array_multisort(): a comparison that waits does not meet another call's
--FILE--
<?php
$item = fn (string $name) => new class($name) {
    public function __construct(public readonly string $name) {}
    public function __toString(): string { usleep(200); return $this->name; }
};
for ($round = 0; $round < 5; $round++) {
    $items = array_map($item, ['c', 'a', 'd', 'b']);
    $numbers = [3, 1, 4, 2];
    array_multisort($items, SORT_DESC, SORT_STRING, $numbers, SORT_ASC);
    echo implode(array_map(strval(...), $items)), implode($numbers), "\n";
}
?>
--EXPECT--
dcba4321
dcba4321
dcba4321
dcba4321
dcba4321
