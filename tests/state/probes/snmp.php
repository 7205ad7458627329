<?php
if (!extension_loaded('snmp') || !getenv('SNMP_PORT')) { return; }
$host = '127.0.0.1:' . getenv('SNMP_PORT');
snmp_set_valueretrieval(SNMP_VALUE_OBJECT);
@snmpget($host, 'probe', '.1.3.6.1.2.1.1.1.0', 1000000, 1);
@snmp2_real_walk($host, 'probe', '.1.3.6.1.2.1.1', 1000000, 1);
@snmpget($host, 'wrong', '.1.3.6.1.2.1.1.1.0', 100000, 0);
$session = new SNMP(SNMP::VERSION_2C, $host, 'probe', 1000000, 1);
$session->exceptions_enabled = SNMP::ERRNO_ANY;
$session->oid_output_format = SNMP_OID_OUTPUT_NUMERIC;
try { $session->walk('.1.3.6.1.2.1.1'); $session->get('.1.3.6.1.99'); } catch (SNMPException) {}
$session->close();
@snmp3_get($host, 'user', 'authNoPriv', 'SHA', 'password1', 'AES', 'password2', '.1.3.6.1.2.1.1.1.0', 100000, 0);
@snmp_read_mib('/nowhere');
