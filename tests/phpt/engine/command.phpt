--TEST--
What only the php command does: objects numbered from 1, no headers, dl(), session handlers until the end
--INI--
session.use_cookies=0
session.cache_limiter=
--SKIPIF--
<?php if (getenv('PHPT_WAY') === 'requests') die('skip only of the command line'); ?>
--FILE--
<?php
ob_start();
var_dump(spl_object_id($one = new stdClass), spl_object_id($two = new stdClass));
header('X-Name: value');
var_dump(headers_list(), function_exists('dl'));
session_set_save_handler(new SessionHandler());
session_start();
usleep(1000);
$_SESSION['name'] = 'value';
[$near, $far] = [socket_create(AF_UNIX, SOCK_STREAM, 0), null];
[$read, $write, $except] = [[$near], null, null];
var_dump(session_write_close(), ini_get('session.save_handler'));
echo @socket_select($read, $write, $except, -1) === false ? 'refused' : 'accepted', "\n";
--EXPECT--
int(1)
int(2)
array(0) {
}
bool(true)
bool(true)
string(4) "user"
refused
