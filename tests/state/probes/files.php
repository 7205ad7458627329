<?php
$t = tempnam('/tmp', 'probe'); file_put_contents($t, 'a,b'); stat($t); lstat($t); filemtime($t); is_file($t); is_link($t); fileperms($t); realpath($t); touch($t); 
$h = fopen($t, 'r+'); flock($h, LOCK_SH); fgetcsv($h); fgets($h); unlink($t); @unlink($t); is_dir('/tmp'); $d = opendir('/tmp'); readdir(); readdir($d); scandir('/tmp'); glob('/tmp/*'); disk_free_space('/'); @filesize($t); $d2 = dir('/'); $d2->read();
getmyuid(); getmyinode(); getlastmod(); get_current_user(); get_included_files(); getopt('a'); sys_getloadavg(); getrusage(); fnmatch('*', 'x'); parse_ini_string('a=1'); highlight_string('<?php 1;', true); php_strip_whitespace(__FILE__); get_browser_();
function get_browser_(): void { @get_browser('x', true); }
