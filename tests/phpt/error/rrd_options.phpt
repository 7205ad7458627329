--TEST--
Two calls of rrd may have one array of options whose conversion waits
--SKIPIF--
<?php if (!extension_loaded('rrd')) die('skip rrd'); ?>
--FILE--
<?php
/** Text that takes a while. */
$option = static fn (string $text): object => new class ($text) {
    public function __construct(private string $text)
    {
    }

    public function __toString(): string
    {
        usleep(random_int(1, 5000));
        return $this->text;
    }
};
$file = sys_get_temp_dir() . '/options-' . bin2hex(random_bytes(8)) . '.rrd';
rrd_create($file, ['--start', '999999990', '--step', '10', 'DS:a:GAUGE:20:U:U', 'RRA:AVERAGE:0.5:1:10']);
$GLOBALS['options'] ??= array_map($option, ['AVERAGE', '--resolution', '10', '--start', '1000000000', '--end', '1000000020']);
for ($i = 0; $i < 20; $i++) {
    $all[] = array_slice(rrd_fetch($file, $GLOBALS['options']) ?: [rrd_error()], 0, 3);
}
unlink($file);
echo json_encode(array_unique($all, SORT_REGULAR)), "\n";
?>
--EXPECT--
[{"start":1000000000,"end":1000000030,"step":10}]
