<?php
register_shutdown_function(fn () => 1); register_shutdown_function('strlen', 'x'); spl_autoload_register(fn ($c) => null); class_exists('NotThere'); spl_autoload_extensions('.inc'); iterator_apply(new ArrayIterator([1]), fn () => true);
