<?php
preg_match('/(a)(?<n>b)/u', 'ab', $m); @preg_match('/a/u', "\xff"); preg_last_error(); preg_replace_callback('/x/', fn () => 'y', 'x'); preg_split('/,/', 'a,b'); preg_grep('/a/', ['a']); ini_set('pcre.jit', '0'); preg_match('/nojit/', 'x'); setlocale(LC_CTYPE, 'C.UTF-8'); preg_match('/locale/', 'x'); @preg_match('/(?:\D+|<\d+>)*[!?]/', 'foobar foobar foobar');
