/*
 * The callback that runs before the head is sent. PHP frees the callback that a call of header_register_callback() replaces
 * while it is still registered: its destructor may replace it again, and after the head was sent it stays registered. Both free
 * it twice; under `php` the first one ends the process too.
 */
#include "engine/engine.h"
#include "engine/replace.h"
#include "request/request.h"

static zif_handler register_callback;

void hearth_run_header_callback(void)
{
	zval callback, result;

	if (Z_TYPE(SG(callback_func)) == IS_UNDEF) {
		return;
	}
	ZVAL_COPY_VALUE(&callback, &SG(callback_func));
	ZVAL_UNDEF(&SG(callback_func));
	if (call_user_function(NULL, NULL, &callback, &result, 0, NULL) == SUCCESS) {
		zval_ptr_dtor(&result);
	}
	zval_ptr_dtor(&callback);
	if (EG(exception)) {
		hearth_report_exception();
	}
}

static void on_register(INTERNAL_FUNCTION_PARAMETERS)
{
	zval *callback = &SG(callback_func), before;

	ZVAL_COPY_VALUE(&before, callback);
	ZVAL_UNDEF(callback);
	register_callback(INTERNAL_FUNCTION_PARAM_PASSTHRU);
	if (EG(exception) && Z_TYPE_P(callback) == IS_UNDEF) {
		ZVAL_COPY_VALUE(callback, &before);
		return;
	}
	zval_ptr_dtor(&before);
}

void hearth_header_callback_hook(void)
{
	hearth_replace_function("header_register_callback", &register_callback, on_register);
}
