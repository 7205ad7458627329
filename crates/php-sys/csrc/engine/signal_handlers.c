/*
 * PHP code that handles signals: the table of ext/pcntl, which has neither a header nor a symbol and can only be reached by
 * the extension's functions. engine/process_facts.c has the kernel's side.
 */
#include "engine/internal_call.h"
#include "engine/process_facts.h"
#include "state/ranges.h"

/* The handlers, by signal number, as they were before a request's first change. */
static zval handlers;
static bool is_async;

static bool handler_of(zend_ulong number, zval *handler)
{
	zval argument;

	ZVAL_LONG(&argument, (zend_long) number);
	return hearth_call_function("pcntl_signal_get_handler", 1, &argument, handler);
}

void hearth_signal_handlers_note(void)
{
	zval async, handler;

	if (!zend_hash_str_exists(CG(function_table), ZEND_STRL("pcntl_signal_get_handler"))) {
		return;
	}
	array_init(&handlers);
	for (zend_ulong number = 1; number <= HEARTH_LAST_READABLE_SIGNAL; number++) {
		if (handler_of(number, &handler)) {
			zend_hash_index_add_new(Z_ARRVAL(handlers), number, &handler);
		}
	}
	is_async = hearth_call_function("pcntl_async_signals", 0, NULL, &async) && Z_TYPE(async) == IS_TRUE;
}

static void restore_one(zend_ulong number, zval *handler)
{
	zval now, result, arguments[2];
	bool is_same;

	if (!handler_of(number, &now)) {
		return;
	}
	is_same = zend_is_identical(&now, handler);
	zval_ptr_dtor(&now);
	if (!is_same) {
		ZVAL_LONG(&arguments[0], (zend_long) number);
		ZVAL_COPY_VALUE(&arguments[1], handler);
		hearth_call_function("pcntl_signal", 2, arguments, &result);
	}
}

void hearth_signal_handlers_restore(void)
{
	zval async, result, *handler;
	zend_ulong number;

	if (Z_TYPE(handlers) != IS_ARRAY) {
		return;
	}
	ZEND_HASH_FOREACH_NUM_KEY_VAL(Z_ARRVAL(handlers), number, handler) {
		restore_one(number, handler);
	} ZEND_HASH_FOREACH_END();
	zval_ptr_dtor(&handlers);
	ZVAL_UNDEF(&handlers);
	ZVAL_BOOL(&async, is_async);
	hearth_call_function("pcntl_async_signals", 1, &async, &result);
}
