<?php
// Clients of servers that are not there: each as far as its extension is installed.
function with(string $extension, Closure $code): void { if (extension_loaded($extension)) { try { @$code(); } catch (Throwable) { } } }
with('ldap', function () { ldap_set_option(null, LDAP_OPT_NETWORK_TIMEOUT, 1); ldap_set_option(null, LDAP_OPT_X_TLS_REQUIRE_CERT, 0); $l = ldap_connect('ldap://127.0.0.1:1'); ldap_bind($l); ldap_errno($l); });
with('imap', function () { imap_timeout(IMAP_OPENTIMEOUT, 1); imap_open('{127.0.0.1:1/imap}', 'x', 'y', 0, 1); imap_errors(); imap_rfc822_parse_adrlist('a@b, "', 'c'); imap_alerts(); imap_utf7_encode('ü'); imap_mail_compose([], []); });
with('imap', function () { imap_rfc822_parse_adrlist('a@b, "unfinished', 'c'); });
with('snmp', function () { snmp_set_quick_print(true); snmp_set_valueretrieval(SNMP_VALUE_PLAIN); snmp_set_oid_output_format(SNMP_OID_OUTPUT_NUMERIC); snmp_set_enum_print(true); snmpget('127.0.0.1:1', 'public', '1.3', 10000, 0); $s = new SNMP(SNMP::VERSION_1, '127.0.0.1:1', 'x', 10000, 0); $s->get('1.3'); });
with('odbc', function () { odbc_connect('nowhere', 'x', 'y'); odbc_error(); odbc_errormsg(); ini_set('odbc.defaultlrl', '7'); });
with('pdo_odbc', function () { new PDO('odbc:nowhere'); });
with('pdo_dblib', function () { new PDO('dblib:host=127.0.0.1:1;version=7.0', 'x', 'y'); });
with('pdo_firebird', function () { new PDO('firebird:dbname=127.0.0.1/1:x', 'x', 'y'); });
with('memcached', function () { $m = new Memcached; $m->addServer('127.0.0.1', 1); $m->setOption(Memcached::OPT_COMPRESSION, false); $m->get('x'); $m->getResultMessage(); ini_set('memcached.serializer', 'php'); });
with('mongodb', function () { $m = new MongoDB\Driver\Manager('mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=1'); $m->executeCommand('x', new MongoDB\Driver\Command(['ping' => 1])); });
with('mongodb', function () { MongoDB\Driver\Monitoring\addSubscriber(new class implements MongoDB\Driver\Monitoring\CommandSubscriber { function commandStarted($e): void {} function commandSucceeded($e): void {} function commandFailed($e): void {} }); });
with('amqp', function () { $c = new AMQPConnection(['port' => 1, 'connect_timeout' => 1]); $c->connect(); });
with('stomp', function () { new Stomp('tcp://127.0.0.1:1'); });
with('stomp', function () { stomp_connect('tcp://127.0.0.1:1'); stomp_connect_error(); });
with('gearman', function () { $c = new GearmanClient; $c->addServer('127.0.0.1', 1); $c->setTimeout(1); $c->doNormal('x', 'y'); });
with('solr', function () { (new SolrClient(['hostname' => '127.0.0.1', 'port' => 1]))->ping(); });
with('ssh2', function () { ssh2_connect('127.0.0.1', 1); });
with('zmq', function () { $c = new ZMQContext(1, false); $s = $c->getSocket(ZMQ::SOCKET_REQ); $s->setSockOpt(ZMQ::SOCKOPT_LINGER, 0); });
with('raphf', function () { raphf\stat_persistent_handles(); });
with('smbclient', function () { $s = smbclient_state_new(); smbclient_state_init($s); smbclient_opendir($s, 'smb://127.0.0.1/'); smbclient_state_errno($s); });
with('rrd', function () { rrd_fetch('/nowhere', ['AVERAGE']); rrd_error(); });
with('remctl', function () { remctl('127.0.0.1', 1, '', ['x']); });
with('libvirt-php', function () { libvirt_connect('test:///nowhere'); libvirt_get_last_error(); });
with('maxminddb', function () { new MaxMind\Db\Reader('/nowhere'); });
with('pinba', function () { pinba_script_name_set('x'); });
with('gnupg', function () { $g = gnupg_init(); gnupg_import($g, 'x'); gnupg_geterror($g); });
