<?php
$s = socket_create(AF_INET, SOCK_STREAM, SOL_TCP); @socket_connect($s, '127.0.0.1', 1); socket_last_error(); @socket_create(99, 1, 1); socket_strerror(1); socket_create_pair(AF_UNIX, SOCK_STREAM, 0, $p); socket_set_nonblock($p[0]); @socket_read($p[0], 1); @socket_sendmsg($p[0], []); socket_addrinfo_lookup('127.0.0.1');
if (function_exists("socket_cmsg_space")) { socket_cmsg_space(SOL_SOCKET, SCM_RIGHTS, 1); } socket_import_stream($stream = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0)[0]);
