<?php
class ProbeWrapper { public $context; private int $at = 0; function stream_open($p, $m, $o, &$x) { return true; } function stream_read($n) { return $this->at++ ? '' : 'abc'; } function stream_eof() { return $this->at > 0; } function stream_stat() { return []; } function url_stat($p, $f) { return []; } }
stream_wrapper_register('probe', ProbeWrapper::class); file_get_contents('probe://x'); stream_wrapper_unregister('http');
stream_context_set_default(['http' => ['method' => 'PUT']]); stream_context_get_default(); stream_get_wrappers(); stream_get_filters();
class ProbeFilter extends php_user_filter { function filter($in, $out, &$consumed, bool $closing): int { while ($b = stream_bucket_make_writeable($in)) { $consumed += $b->datalen; stream_bucket_append($out, $b); } return PSFS_PASS_ON; } }
stream_filter_register('probe.filter', ProbeFilter::class); $f = fopen('php://memory', 'w+'); stream_filter_append($f, 'probe.filter'); stream_filter_append($f, 'string.rot13'); fwrite($f, 'x');
@stream_socket_client('tcp://127.0.0.1:1', $n, $s, 0.1); $p = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0); $x = [$p[0]]; $y = $z = null; stream_select($x, $y, $z, 0);
@fopen('nowhere://x', 'r'); @include 'probe://nothing';
