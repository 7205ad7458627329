<?php
ini_set('zlib.output_compression', '1'); ob_start('ob_gzhandler'); gzcompress('x'); @gzuncompress('x'); $d = deflate_init(ZLIB_ENCODING_GZIP); deflate_add($d, 'x'); @zlib_get_coding_type(); readgzfile_(); function readgzfile_() { @readgzfile('/nowhere'); }
