<?php
@ftp_connect('127.0.0.1', 1, 1); @fsockopen('127.0.0.1', 1, $n, $s, 0.1); @mail_(); function mail_(): void {} @dns_check_record('127.0.0.1'); cal_days_in_month(0, 2, 2024); jdtojewish(2450000); easter_date(2024); token_get_all('<?php 1;'); PhpToken::tokenize('<?php 2;'); ctype_alpha('x'); bin2hex('x'); readline_();  function readline_(): void {}
