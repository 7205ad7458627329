/*
 * SoapServer::handle() and fault() end in a bailout, as a fatal error does, once they have sent a SOAP fault: a request
 * body that is no SOAP would end a worker. They leave nothing behind that the end of a request does not clean up, so the
 * bailout becomes an exit().
 *
 * The WSDL cache in memory frees a document that another request's SoapClient still uses: while requests run at the same
 * time, the cache on disk replaces it.
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

/* ---- which functions ---- */

void hearth_watch_soap(void)
{
	static const char *const methods[] = {"handle", "fault"};
	zend_class_entry *server = zend_hash_str_find_ptr(CG(class_table), ZEND_STRL("soapserver"));

	for (size_t i = 0; server && i < sizeof methods / sizeof *methods; i++) {
		zend_function *function = zend_hash_str_find_ptr(&server->function_table, methods[i], strlen(methods[i]));

		if (function) {
			hearth_watch_of(function)->bails_out = true;
		}
	}
}
