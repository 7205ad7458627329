<?php
date_default_timezone_set('Europe/Rome'); new DateTime('now', new DateTimeZone('Asia/Tokyo')); @strtotime('nonsense'); date_create('garbage'); DateTime::getLastErrors(); date_sunrise(1); timezone_identifiers_list(); date('c'); mktime(1); getdate(); localtime(); idate('y'); new DatePeriod(new DateTime, new DateInterval('P1D'), 2); date_parse('x');
