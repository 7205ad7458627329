<?php
ini_set('precision', '5'); ini_set('memory_limit', '200M'); ini_set('display_errors', '0'); ini_set('default_socket_timeout', '7');
ini_set('user_agent', 'probe'); ini_set('include_path', '/nowhere'); set_include_path('/elsewhere'); ini_set('arg_separator.output', ';');
ini_set('serialize_precision', '3'); ini_set('error_log', '/dev/null'); ini_set('log_errors', '0'); ini_set('default_charset', 'latin1');
ini_set('auto_detect_line_endings', '1'); ini_set('assert.exception', '0'); ini_set('unserialize_max_depth', '9'); error_reporting(E_ERROR);
set_time_limit(17); ignore_user_abort(true); ini_set('zend.enable_gc', '0'); gc_disable(); ini_set('pcre.backtrack_limit', '77');
