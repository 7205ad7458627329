<?php
// Tools and bindings: each as far as its extension is installed.
function with(string $extension, Closure $code): void { if (extension_loaded($extension)) { try { @$code(); } catch (Throwable) { } } }
with('imagick', function () { Imagick::setResourceLimit(6, 1); $i = new Imagick; $i->newImage(2, 2, 'red'); $i->setImageFormat('png'); $i->getImageBlob(); $i->readImage('/nowhere'); });
with('imagick', function () { $i = new Imagick; $i->newImage(2, 2, 'red'); $i->setProgressMonitor(fn () => true); $i->blurImage(1, 1); });
with('gmagick', function () { $g = new Gmagick; $g->newImage(2, 2, 'red'); $g->readImage('/nowhere'); });
with('geos', function () { (new GEOSWKTReader)->read('POINT(1 2)'); (new GEOSWKTReader)->read('nonsense'); });
with('dba', function () { $d = dba_open('/tmp/probe' . getmypid() . '.db', 'c', 'flatfile'); dba_insert('a', 'b', $d); dba_firstkey($d); dba_close($d); unlink('/tmp/probe' . getmypid() . '.db'); unlink('/tmp/probe' . getmypid() . '.db.lck'); dba_list(); });
with('luasandbox', function () { $l = new LuaSandbox; $l->loadString('return 1')->call(); $l->setMemoryLimit(1000000); });
with('excimer', function () { $e = new ExcimerProfiler; $e->setPeriod(10); $e->start(); $e->stop(); });
with('pcov', function () { pcov\start(); pcov\stop(); pcov\clear(); });
with('tideways_xhprof', function () { tideways_xhprof_enable(); tideways_xhprof_disable(); });
with('uopz', function () { uopz_set_return('strrev', 1); uopz_unset_return('strrev'); uopz_allow_exit(true); });
with('uploadprogress', function () { uploadprogress_get_info('x'); });
with('ps', function () { $p = ps_new(); ps_open_file($p, ''); ps_close($p); });
with('yac', function () { $y = new Yac; $y->set('probe', 1); $y->get('probe'); $y->delete('probe'); });
with('apcu', function () { apcu_entry('probe', fn () => 1); apcu_delete('probe'); });
with('xdebug', function () { xdebug_info(); xdebug_get_function_stack(); xdebug_time_index(); });
with('psr', function () { interface_exists('Psr\Log\LoggerInterface'); });
with('wmerrors', function () { trigger_error('x', E_USER_WARNING); });
with('guestfs_php', function () { guestfs_create(); guestfs_last_error(guestfs_create()); });
with('mapscript', function () { new mapObj(''); });
