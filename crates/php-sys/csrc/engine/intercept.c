/*
 * Internal functions whose calls pass through a function of ours first. The handler is replaced in every entry that has it:
 * aliases, and the copies that classes inherit. The intercept of a function is in a `reserved` slot, which the engine has
 * for extensions and copies along, into closures too.
 */
#include "engine/engine.h"
#include "engine/process_facts.h"
#include "engine/replace.h"
#include "engine/soap.h"
#include "request/request.h"
#include "task/marks.h"
#include "task/no_suspend.h"

static HashTable intercepts;
static int slot = -1;

zval *hearth_argument(zend_execute_data *call, uint32_t number)
{
	zval *argument;

	if (number > ZEND_CALL_NUM_ARGS(call)) {
		return NULL;
	}
	argument = ZEND_CALL_ARG(call, number);
	ZVAL_DEREF(argument);
	return Z_TYPE_P(argument) == IS_UNDEF ? NULL : argument;
}

static void call_intercepted(INTERNAL_FUNCTION_PARAMETERS, const hearth_intercept *intercept)
{
	if (intercept->sharing && hearth_sharing_refuses(execute_data, return_value, intercept)) {
		return;
	}
	if (intercept->begins && hearth_current && hearth_refuse_more(intercept->begins)) {
		return;
	}
	if (intercept->of_process) {
		hearth_process_state_note();
	}
	if (intercept->of_session) {
		hearth_session_call(execute_data, return_value, intercept->original);
		return;
	}
	if (intercept->bails_out && !hearth_current) {
		hearth_soap_call(execute_data, return_value, intercept->original);
		return;
	}
	if (intercept->no_suspend) {
		hearth_section *section = hearth_section_enter(__builtin_frame_address(0));

		intercept->original(INTERNAL_FUNCTION_PARAM_PASSTHRU);
		hearth_section_leave(section);
		return;
	}
	if (intercept->suspends_fiber && hearth_current) {
		hearth_use_suspends_fiber(execute_data, return_value, intercept);
		return;
	}
	if (!intercept->use || !hearth_current) {
		intercept->original(INTERNAL_FUNCTION_PARAM_PASSTHRU);
		return;
	}
	hearth_use(execute_data, return_value, intercept);
}

static void make_call(INTERNAL_FUNCTION_PARAMETERS, const hearth_intercept *intercept)
{
	hearth_process_state before;

	if (EXPECTED(!intercept->keeps)) {
		call_intercepted(INTERNAL_FUNCTION_PARAM_PASSTHRU, intercept);
		return;
	}
	hearth_process_keep(&before, intercept->keeps);
	call_intercepted(INTERNAL_FUNCTION_PARAM_PASSTHRU, intercept);
	hearth_process_put_back(&before);
}

static void on_intercepted(INTERNAL_FUNCTION_PARAMETERS)
{
	const hearth_intercept *intercept = EX(func)->internal_function.reserved[slot];

	if (EXPECTED(intercept->only_uses && hearth_current)) {
		hearth_use(execute_data, return_value, intercept);
		return;
	}
	if (intercept->has_references && hearth_current) {
		hearth_call_with_references(INTERNAL_FUNCTION_PARAM_PASSTHRU, intercept, make_call);
		return;
	}
	make_call(INTERNAL_FUNCTION_PARAM_PASSTHRU, intercept);
}

const hearth_intercept *hearth_intercept_known(const zend_function *function)
{
	return function->type == ZEND_INTERNAL_FUNCTION && function->internal_function.handler == on_intercepted
		? function->internal_function.reserved[slot] : NULL;
}

static zend_ulong key_of(zif_handler handler)
{
	return (zend_ulong) (uintptr_t) handler;
}

hearth_intercept *hearth_intercept_of(zend_function *function)
{
	zif_handler handler = function->internal_function.handler;
	hearth_intercept *intercept = zend_hash_index_find_ptr(&intercepts, key_of(handler));

	if (!intercept) {
		intercept = pecalloc(1, sizeof *intercept, 1);
		intercept->original = handler;
		zend_hash_index_add_new_ptr(&intercepts, key_of(handler), intercept);
	}
	return intercept;
}

static void replace(HashTable *functions)
{
	zend_function *function;
	zif_handler original;
	hearth_intercept *intercept;

	ZEND_HASH_FOREACH_PTR(functions, function) {
		if (function->type != ZEND_INTERNAL_FUNCTION) {
			continue;
		}
		intercept = zend_hash_index_find_ptr(&intercepts, key_of(function->internal_function.handler));
		if (intercept) {
			function->internal_function.reserved[slot] = intercept;
			hearth_replace_handler(function, &original, on_intercepted);
		}
	} ZEND_HASH_FOREACH_END();
}

static void note_which_only_use(void)
{
	hearth_intercept *intercept;

	ZEND_HASH_FOREACH_PTR(&intercepts, intercept) {
		intercept->only_uses = intercept->use && !intercept->sharing && !intercept->suspends_fiber
			&& !intercept->no_suspend && !intercept->keeps && !intercept->begins && !intercept->bails_out
			&& !intercept->of_process && !intercept->of_session && !intercept->has_references;
	} ZEND_HASH_FOREACH_END();
}

static bool begin(const char *not_done)
{
	slot = zend_get_resource_handle("hearth");
	if (slot < 0) {
		hearth_log(HEARTH_LOG_WARNING, "no slot for intercepted functions (too many Zend extensions): %s", not_done);
		return false;
	}
	zend_hash_init(&intercepts, 512, NULL, NULL, 1);
	return true;
}

static void replace_all(void)
{
	zend_class_entry *ce;

	note_which_only_use();
	replace(CG(function_table));
	ZEND_HASH_FOREACH_PTR(CG(class_table), ce) {
		replace(&ce->function_table);
	} ZEND_HASH_FOREACH_END();
}

/* Called once, when all extensions are loaded; opcache may have preloaded classes that inherit. */
void hearth_intercept_install(void)
{
	if (!begin("persistent connections are not refused")) {
		return;
	}
	hearth_intercept_sharing();
	hearth_intercept_use();
	hearth_intercept_no_suspend();
	hearth_intercept_references();
	hearth_marks_learn();
	hearth_walking_learn();
	hearth_intercept_process();
	hearth_intercept_soap();
	hearth_intercept_begins();
	hearth_intercept_session();
	replace_all();
}

void hearth_intercept_install_classic(void)
{
	if (begin("what a request changes of its process stays")) {
		hearth_intercept_process();
		replace_all();
	}
}
