<?php
// Extensions of packages of their own: each as far as it is installed.
function with(string $extension, Closure $code): void { if (extension_loaded($extension)) { try { @$code(); } catch (Throwable) { } } }
with('bcmath', function () { bcscale(7); bcadd('1', '2'); bcdiv('1', '0'); });
with('gmp', function () { gmp_random_seed(3); gmp_random_bits(8); gmp_random_range(1, 9); gmp_add('1', '2'); gmp_div('1', '0'); });
with('enchant', function () { $b = enchant_broker_init(); enchant_broker_list_dicts($b); enchant_broker_request_dict($b, 'xx'); enchant_broker_get_error($b); });
with('pspell', function () { pspell_new('xx'); });
with('tidy', function () { tidy_setopt(); });
with('tidy', function () { $t = tidy_parse_string('<b>'); $t->cleanRepair(); tidy_get_error_buffer($t); });
with('yaml', function () { yaml_parse("a: [1"); yaml_emit(['a' => 1]); ini_set('yaml.decode_php', '1'); yaml_parse('!php/object "O:8:\"stdClass\":0:{}"'); });
with('mailparse', function () { ini_set('mailparse.def_charset', 'utf-8'); $m = mailparse_msg_create(); mailparse_msg_parse($m, "A: b\r\n\r\nc"); });
with('xmlrpc', function () { xmlrpc_encode([1]); xmlrpc_set_type($x, 'base64'); xmlrpc_server_create(); });
with('wikidiff2', function () { wikidiff2_do_diff('a', 'b', 2); });
with('msgpack', function () { msgpack_unpack(msgpack_pack([new ArrayObject([1])])); msgpack_unpack("\xc1"); ini_set('msgpack.php_only', '0'); });
with('ds', function () { $v = new Ds\Vector([1, 2]); $v->map(fn ($x) => $x); $v->sort(fn ($a, $b) => $b <=> $a); });
with('ast', function () { ast\parse_code('<?php 1;', 80); ast\parse_code('<?php (', 80); });
with('tokenizer', function () { token_get_all('<?php ('); });
with('uuid', function () { uuid_create(UUID_TYPE_TIME); uuid_parse('x'); });
with('lz4', function () { lz4_compress('x'); });
with('horde_lz4', function () { horde_lz4_compress('x'); });
with('bz2', function () { bzcompress('x'); bzdecompress('x'); $f = bzopen('/tmp/probe.bz2', 'w'); bzerrno($f); unlink('/tmp/probe.bz2'); });
with('zip', function () { $z = new ZipArchive; $z->open('/nowhere.zip'); $z->getStatusString(); $z->open("/tmp/probe" . getmypid() . ".zip", ZipArchive::CREATE); $z->addFromString('a', 'b'); $z->registerProgressCallback(0.5, fn () => 1); $z->close(); unlink("/tmp/probe" . getmypid() . ".zip"); zip_open('/nowhere'); });
with('mcrypt', function () { mcrypt_list_algorithms(); mcrypt_module_open('rijndael-128', '', 'cbc', ''); });
with('soap', function () { use_soap_error_handler(true); ini_set('soap.wsdl_cache_enabled', '0'); $c = new SoapClient(null, ['location' => 'http://127.0.0.1:1/', 'uri' => 'x', 'trace' => 1, 'encoding' => 'ISO-8859-1', 'typemap' => [['type_ns' => 'a', 'type_name' => 'b', 'from_xml' => fn ($x) => $x]], 'classmap' => ['a' => 'stdClass']]); $c->f(1); });
with('soap', function () { $s = new SoapServer(null, ['uri' => 'x', 'soap_version' => SOAP_1_2]); $s->addFunction('strlen'); $s->getFunctions(); });
with('soap', function () { new SoapClient('/nowhere.wsdl', ['exceptions' => true]); });
