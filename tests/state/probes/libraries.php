<?php
// What a library behind an extension changes for the process by itself: the locale, signal handlers.
if (extension_loaded('tidy')) { tidy_parse_string('<b>x'); (new tidy)->parseString('<i>y'); tidy_get_release(); }
if (extension_loaded('ps')) { $ps = ps_new(); ps_open_file($ps, ''); ps_begin_page($ps, 100, 100); ps_end_page($ps); ps_close($ps); }
if (extension_loaded('pdo_firebird')) { try { new PDO('firebird:dbname=127.0.0.1/1:x', 'x', 'y'); } catch (PDOException) {} }
if (extension_loaded('enchant')) { enchant_broker_list_dicts(enchant_broker_init()); }
if (extension_loaded('gnupg')) { (new gnupg)->keyinfo(''); }
if (extension_loaded('imagick')) { (new Imagick)->queryFonts(); }
