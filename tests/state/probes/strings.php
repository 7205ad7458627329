<?php
strtok('a b c', ' '); mt_srand(3); mt_rand(); srand(4); rand(); lcg_value(); uniqid('', true); random_int(1, 9); array_rand([1, 2, 3]);
crypt('secret', '$1$saltsalt$'); crypt('secret', 'ab'); crypt('x', '_J9..rasm'); password_hash('x', PASSWORD_BCRYPT, ['cost' => 4]); crypt('x', '$5$saltstring'); crypt('x', '$6$saltstring');
@hebrev('x'); htmlspecialchars("\xff"); html_entity_decode('&eacute;'); get_html_translation_table(); soundex('x'); metaphone('Thompson');
similar_text('a', 'b'); levenshtein('a', 'b'); money(); function money(): void { number_format(1.5); }
str_word_count('a b'); nl_langinfo(CODESET); localeconv(); sscanf('1', '%d'); vsprintf('%s', ['x']); utf8_encode('x'); crc32('x'); md5('x'); sha1('x'); convert_uuencode('x');
