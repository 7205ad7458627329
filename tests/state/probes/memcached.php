<?php
if (!extension_loaded('memcached') || !getenv('MEMCACHED_PORT')) { return; }
$cache = new Memcached;
$cache->setOptions([Memcached::OPT_PREFIX_KEY => 'probe', Memcached::OPT_BINARY_PROTOCOL => true, Memcached::OPT_COMPRESSION => true]);
$cache->addServer('127.0.0.1', (int) getenv('MEMCACHED_PORT'));
$cache->set('a', str_repeat('b', 5000), 5);
$cache->get('a');
$cache->get('none', fn ($m, $key, &$value) => ($value = 1) === 1);
$cache->getMulti(['a', 'none']);
$cache->getDelayed(['a'], true, fn () => null);
$cache->increment('n', 1, 5);
$cache->cas(1.0, 'a', 'c');
$cache->getResultMessage();
$cache->getStats();
$cache->delete('a');
ini_set('session.save_handler', 'memcached');
ini_set('session.save_path', '127.0.0.1:' . getenv('MEMCACHED_PORT'));
ini_set('session.use_cookies', '0');
ini_set('session.cache_limiter', '');
@session_start();
$_SESSION['a'] = 1;
session_destroy();
