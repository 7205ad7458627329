<?php
$c = curl_init('http://127.0.0.1:1/'); curl_setopt($c, CURLOPT_RETURNTRANSFER, true); curl_exec($c); curl_errno($c); $m = curl_multi_init(); curl_multi_add_handle($m, $c); curl_multi_exec($m, $r); $s = curl_share_init(); curl_share_setopt($s, CURLSHOPT_SHARE, CURL_LOCK_DATA_DNS); curl_version(); curl_strerror(1);
