<?php
if (!extension_loaded('soap')) { return; }
function hello(string $name): string { return "hello $name"; }
$wsdl = sys_get_temp_dir() . '/probe' . getmypid() . '.wsdl';
file_put_contents($wsdl, <<<'XML'
<definitions name="Probe" targetNamespace="urn:probe" xmlns:tns="urn:probe" xmlns="http://schemas.xmlsoap.org/wsdl/" xmlns:soap="http://schemas.xmlsoap.org/wsdl/soap/" xmlns:xsd="http://www.w3.org/2001/XMLSchema">
<message name="ask"><part name="name" type="xsd:string"/></message><message name="answer"><part name="return" type="xsd:string"/></message>
<portType name="Port"><operation name="hello"><input message="tns:ask"/><output message="tns:answer"/></operation></portType>
<binding name="Binding" type="tns:Port"><soap:binding style="rpc" transport="http://schemas.xmlsoap.org/soap/http"/>
<operation name="hello"><soap:operation soapAction="hello"/><input><soap:body use="literal" namespace="urn:probe"/></input><output><soap:body use="literal" namespace="urn:probe"/></output></operation></binding>
<service name="Probe"><port name="Port" binding="tns:Binding"><soap:address location="http://127.0.0.1:1/"/></port></service></definitions>
XML);
foreach ([WSDL_CACHE_NONE, WSDL_CACHE_DISK, WSDL_CACHE_MEMORY, WSDL_CACHE_BOTH] as $cache) {
    $client = new SoapClient($wsdl, ['cache_wsdl' => $cache, 'trace' => 1, 'classmap' => ['x' => 'stdClass'], 'features' => SOAP_SINGLE_ELEMENT_ARRAYS, 'encoding' => 'ISO-8859-1']);
    try { $client->hello('x'); } catch (SoapFault) {}
    try { $client->hello(); } catch (SoapFault) {}
}
ini_set('soap.wsdl_cache', '2');
new SoapClient($wsdl);
$request = '<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/"><s:Body><p:hello xmlns:p="urn:probe"><name>x</name></p:hello></s:Body></s:Envelope>';
$server = new SoapServer($wsdl, ['cache_wsdl' => WSDL_CACHE_MEMORY]);
$server->addFunction('hello');
$server->handle($request);
unlink($wsdl);
array_map(unlink(...), glob(ini_get('soap.wsdl_cache_dir') . '/wsdl-*') ?: []);
$server->handle('<no soap');
