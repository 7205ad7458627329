<?php
if (!extension_loaded('dba')) { return; }
foreach (dba_handlers() as $handler) {
    $file = sys_get_temp_dir() . '/probe' . getmypid() . ".$handler";
    try {
        $mode = in_array($handler, ['cdb', 'cdb_make'], true) ? 'n' : 'c';
        $dba = @dba_open($file, $mode, $handler);
        if ($dba) {
            @dba_insert('a', 'b', $dba);
            @dba_exists('a', $dba);
            @dba_fetch('a', $dba);
            for ($key = @dba_firstkey($dba); $key !== false && $key !== null; $key = @dba_nextkey($dba)) {
            }
            dba_list();
            @dba_optimize($dba);
            @dba_sync($dba);
            dba_close($dba);
        }
        @dba_open("/nowhere/$handler", 'r', $handler);
    } catch (Throwable) {
    }
    array_map(unlink(...), glob("$file*"));
}
