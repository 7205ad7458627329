<?php
if (!extension_loaded('soap')) { return; }
class Service { public function fail() { throw new Exception('no'); } public function refuse() { $GLOBALS['server']->fault('Client', 'refused'); } }
$envelope = fn (string $call) => "<s:Envelope xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\"><s:Body><p:$call xmlns:p=\"urn:probe\"/></s:Body></s:Envelope>";
$GLOBALS['server'] = $server = new SoapServer(null, ['uri' => 'urn:probe']);
$server->setClass('Service');
use_soap_error_handler(true);
register_shutdown_function(function () { unset($GLOBALS['server']); });
$server->handle($envelope('refuse'));
