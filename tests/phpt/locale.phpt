--TEST--
A script that sets the locale ends as any other
--FILE--
<?php
var_dump(setlocale(LC_ALL, 'C.UTF-8'), setlocale(LC_CTYPE, 0));
setlocale(LC_CTYPE, 'C');
setlocale(LC_CTYPE, 'C.UTF-8');
echo "done\n";
--EXPECT--
string(7) "C.UTF-8"
string(7) "C.UTF-8"
done
