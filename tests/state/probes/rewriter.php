<?php
output_add_rewrite_var('a', 'b'); output_reset_rewrite_vars(); output_add_rewrite_var('c', 'd'); ini_set('url_rewriter.tags', 'a=href'); echo '<a href="x">';
