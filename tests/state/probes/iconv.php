<?php
iconv_set_encoding('internal_encoding', 'ISO-8859-1'); @iconv('UTF-8', 'ASCII', "\xff"); iconv_strlen('x'); iconv_mime_encode('a', 'b'); ob_start('ob_iconv_handler');
