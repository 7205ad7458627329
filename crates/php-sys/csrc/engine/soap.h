/* Behaviour of ext/soap that a worker of many requests replaces: see engine/soap.c. */
#ifndef HEARTH_SOAP_H
#define HEARTH_SOAP_H

#include "engine/watch.h"

/* Calls it; its bailout is an exit(). */
void hearth_soap_call(zend_execute_data *execute_data, zval *return_value, zif_handler original);
/* `options` are of SoapClient or SoapServer, or NULL. */
void hearth_soap_without_memory_cache(zval *options);

#endif
