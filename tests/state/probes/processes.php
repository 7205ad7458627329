<?php
shell_exec('true'); exec('true', $o); $p = popen('true', 'r'); pclose($p); $x = proc_open(['true'], [], $pipes); proc_close($x); gethostname(); getservbyname('http', 'tcp'); getprotobyname('tcp'); @gethostbyname('localhost'); openlog('probe', LOG_PID, LOG_USER); syslog(LOG_DEBUG, 'probe'); closelog(); inet_pton('::1'); php_uname(); getmypid(); sys_get_temp_dir(); 
