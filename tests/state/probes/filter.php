<?php
filter_input(INPUT_GET, 'file'); filter_input_array(INPUT_COOKIE); filter_var('1', FILTER_VALIDATE_INT); filter_has_var(INPUT_SERVER, 'x'); filter_input(INPUT_POST, 'x'); filter_input(INPUT_ENV, 'PATH'); $_GET; $_POST; $_COOKIE; $_FILES; $_SERVER['X'] = 1; $_REQUEST; $_ENV['x'] = 1; parse_str('a=1', $r); import();
function import(): void { file_get_contents('php://input'); getallheaders_(); } function getallheaders_(): void { if (function_exists('getallheaders')) { getallheaders(); } }
