<?php
readline_completion_function(fn () => []); readline_add_history('secret of a visitor'); readline_list_history(); readline_info('readline_name', 'probe'); readline_callback_handler_install('', fn () => 1); readline_callback_handler_remove(); readline_callback_handler_install('', fn () => 1);
