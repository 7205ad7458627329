<?php
setlocale(LC_ALL, 'C.UTF-8'); setlocale(LC_NUMERIC, 'C'); localeconv(); strftime_();
function strftime_(): void { @strftime('%A'); }
putenv('PROBE=1'); putenv('TZ=Europe/Rome'); umask(0); chdir('/'); date_default_timezone_set('Asia/Tokyo');
