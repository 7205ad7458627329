<?php
proc_nice(1); if (function_exists("posix_setrlimit")) { posix_setrlimit(POSIX_RLIMIT_NOFILE, 512, posix_getrlimit()["hard openfiles"] === "unlimited" ? -1 : (int) posix_getrlimit()["hard openfiles"]); }
@posix_kill(99999999, 0); posix_get_last_error(); posix_getpwuid(0); posix_getgrgid(0); posix_ttyname(0); posix_uname(); pcntl_get_last_error(); @pcntl_getpriority(99999999); pcntl_signal_get_handler(SIGUSR1); pcntl_signal(SIGUSR2, fn () => 1); pcntl_async_signals(true); pcntl_signal_dispatch(); pcntl_sigprocmask(SIG_BLOCK, [SIGUSR2], $old); pcntl_alarm(1000);
