<?php
set_error_handler(fn () => true); set_exception_handler(fn () => null); @trigger_error('x'); echo $undefined; restore_error_handler();
set_error_handler(null); @file_get_contents('/nowhere'); error_get_last(); error_clear_last(); @strpos(); 
