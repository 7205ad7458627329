/*
 * SoapServer::handle() and fault() end in a bailout, as a fatal error does, once they have sent a SOAP fault: a request
 * body that is no SOAP would end a worker. They leave nothing behind that the end of a request does not clean up, so the
 * bailout becomes an exit().
 *
 * The WSDL cache in memory frees a document that another request's SoapClient still uses: while requests run at the same
 * time, the cache on disk replaces it.
 *
 * Before PHP 8.4, a SoapClient that is freed leaves its connection open, and each of its requests a URL, until PHP closes all resources,
 * which a resident worker never does.
 */
#include "engine/soap.h"

static const char own_error[] = "SOAP-ERROR: ";

static bool is_fatal_for_all(void)
{
	return PG(last_error_message) && (PG(last_error_type) & (E_ERROR | E_CORE_ERROR | E_COMPILE_ERROR | E_PARSE))
		&& strncmp(ZSTR_VAL(PG(last_error_message)), own_error, sizeof own_error - 1) != 0;
}

/* Frees the VM stack pages of the calls that the bailout has left. */
static void cut_vm_stack(zval *top)
{
	while (EG(vm_stack)->prev && ((char *) top < (char *) EG(vm_stack) || (char *) top > (char *) EG(vm_stack)->end)) {
		zend_vm_stack last = EG(vm_stack);

		EG(vm_stack) = last->prev;
		EG(vm_stack_end) = EG(vm_stack)->end;
		efree(last);
	}
	EG(vm_stack)->top = top;
	EG(vm_stack_top) = top;
}

void hearth_soap_call(zend_execute_data *execute_data, zval *return_value, zif_handler original)
{
	zval *top = EG(vm_stack_top);
	bool in_compilation = CG(in_compilation), unclean = CG(unclean_shutdown);
	volatile bool ended = false;

	zend_try {
		original(execute_data, return_value);
	} zend_catch {
		ended = true;
	} zend_end_try();
	if (!ended) {
		return;
	}
	if (is_fatal_for_all()) {
		zend_bailout();
	}
	EG(current_execute_data) = execute_data;
	CG(in_compilation) = in_compilation;
	CG(unclean_shutdown) = unclean;
	cut_vm_stack(top);
	if (!EG(exception)) {
		zend_throw_unwind_exit();
	}
}

/* ---- the cache of WSDL ---- */

enum { CACHE_DISK = 1, CACHE_MEMORY = 2 };

void hearth_soap_without_memory_cache(zval *options)
{
	zend_ini_entry *entry = zend_hash_str_find_ptr(EG(ini_directives), ZEND_STRL("soap.wsdl_cache"));
	zval *mode;

	if (entry && entry->mh_arg2) {
		char *of_setting = (char *) entry->mh_arg2 + (size_t) entry->mh_arg1;

		*of_setting = *of_setting & CACHE_MEMORY ? CACHE_DISK : *of_setting;
	}
	if (options && Z_TYPE_P(options) == IS_ARRAY && (mode = zend_hash_str_find(Z_ARRVAL_P(options), ZEND_STRL("cache_wsdl")))
			&& Z_TYPE_P(mode) == IS_LONG && (Z_LVAL_P(mode) & CACHE_MEMORY)) {
		SEPARATE_ARRAY(options);
		ZVAL_LONG(zend_hash_str_find(Z_ARRVAL_P(options), ZEND_STRL("cache_wsdl")), CACHE_DISK);
	}
}

/* ---- connections and URLs of SoapClient ---- */

uint32_t hearth_soap_connections;
static HashTable connections;
static uint32_t socket_offset, url_offset;

static zval *property_at(zend_object *client, uint32_t offset)
{
	zval *value = (zval *) ((char *) client + offset);

	ZVAL_DEREF(value);
	return value;
}

static void note_connection(zend_object *client)
{
	zval *socket = property_at(client, socket_offset);

	if (Z_TYPE_P(socket) == IS_RESOURCE && zend_hash_index_add_ptr(&connections, Z_RES_HANDLE_P(socket), Z_RES_P(socket))) {
		Z_ADDREF_P(socket);
		hearth_soap_connections++;
	}
}

/*
 * The client has a resource for the URL of its last request. The extension takes a reference that it never gives back, and puts the next
 * URL in the place of the last one, without releasing that unless the connection has ended in between.
 */
void hearth_soap_request(zend_execute_data *call, zval *return_value, zif_handler original)
{
	zend_object *client = Z_OBJ(call->This);
	const zval *url = property_at(client, url_offset);
	zend_resource *last = Z_TYPE_P(url) == IS_RESOURCE ? Z_RES_P(url) : NULL;
	uint32_t references = last ? GC_ADDREF(last) : 0;

	original(call, return_value);
	note_connection(client);
	url = property_at(client, url_offset);
	if (Z_TYPE_P(url) == IS_RESOURCE && Z_RES_P(url) != last) {
		GC_DELREF(Z_RES_P(url));
		if (last && GC_REFCOUNT(last) == references) {
			zend_list_delete(last);
		}
	}
	if (last) {
		zend_list_delete(last);
	}
}

/* Closes the connections that no client has any more: each has the extension's own reference, which nothing gives back, and ours. */
void hearth_soap_connections_close(void)
{
	zend_ulong handle;
	zend_resource *socket;

	ZEND_HASH_FOREACH_NUM_KEY_PTR(&connections, handle, socket) {
		bool is_closed = socket->type < 0;

		if (!is_closed && GC_REFCOUNT(socket) > 2) {
			continue;
		}
		zend_hash_index_del(&connections, handle);
		hearth_soap_connections--;
		if (!is_closed) {
			zend_list_close(socket);
			zend_list_delete(socket);
		}
		zend_list_delete(socket);
	} ZEND_HASH_FOREACH_END();
}

static void watch_client(void)
{
	zend_class_entry *client = zend_hash_str_find_ptr(CG(class_table), ZEND_STRL("soapclient"));
	zend_property_info *socket = client ? zend_hash_str_find_ptr(&client->properties_info, ZEND_STRL("httpsocket")) : NULL;
	zend_property_info *url = client ? zend_hash_str_find_ptr(&client->properties_info, ZEND_STRL("httpurl")) : NULL;

	if (socket && url) {
		socket_offset = socket->offset;
		url_offset = url->offset;
		zend_hash_init(&connections, 8, NULL, NULL, 1);
		hearth_intercept_of(zend_hash_str_find_ptr(&client->function_table, ZEND_STRL("__dorequest")))->connects_soap = true;
	}
}

/* ---- which functions ---- */

void hearth_intercept_soap(void)
{
	static const char *const methods[] = {"handle", "fault"};
	zend_class_entry *server = zend_hash_str_find_ptr(CG(class_table), ZEND_STRL("soapserver"));

	for (size_t i = 0; server && i < sizeof methods / sizeof *methods; i++) {
		zend_function *function = zend_hash_str_find_ptr(&server->function_table, methods[i], strlen(methods[i]));

		if (function) {
			hearth_intercept_of(function)->bails_out = true;
		}
	}
	if (HEARTH_SOAP_LEAVES_CONNECTIONS) {
		watch_client();
	}
}
