/* Behaviour of ext/soap that a worker of many requests replaces: see engine/soap.c. */
#ifndef HEARTH_SOAP_H
#define HEARTH_SOAP_H

#include "engine/intercept.h"

/* Calls `original`; its bailout becomes an exit(). */
void hearth_soap_call(zend_execute_data *execute_data, zval *return_value, zif_handler original);
/* Replaces the WSDL cache in memory by the one on disk. `options` are those of SoapClient or SoapServer, or NULL. */
void hearth_soap_without_memory_cache(zval *options);

/* The number of connections that SoapClients have opened and that are not known to be closed. */
extern uint32_t hearth_soap_connections;

/* Calls `original`, SoapClient::__doRequest(), and takes note of the connection that it leaves. */
void hearth_soap_request(zend_execute_data *call, zval *return_value, zif_handler original);
void hearth_soap_connections_close(void);

#endif
