<?php
@file_get_contents('/nowhere'); @trigger_error('y', E_USER_WARNING); error_log('x', 3, '/dev/null'); debug_backtrace(); @ob_get_clean_();
