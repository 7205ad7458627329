<?php
session_save_path('/tmp'); session_name('PROBE'); session_start(['use_cookies' => '0', 'use_only_cookies' => '0', 'use_trans_sid' => '1', 'cache_limiter' => '']); $_SESSION['x'] = 1; session_regenerate_id(); session_set_cookie_params(7); session_cache_limiter('public'); session_register_shutdown(); session_encode();
