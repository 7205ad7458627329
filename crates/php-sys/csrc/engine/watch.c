/*
 * Internal functions whose calls pass through a function of ours first. The handler is replaced in every entry that has it:
 * aliases, and the copies that classes inherit. The watch of a function stands in a `reserved` slot, which the engine has
 * for extensions and copies along, into closures too.
 */
#include "engine/engine.h"
#include "engine/process_facts.h"
#include "engine/replace.h"
#include "engine/soap.h"
#include "request/request.h"
#include "task/marks.h"
#include "task/no_suspend.h"

static HashTable watches;
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

static void call_watched(INTERNAL_FUNCTION_PARAMETERS, const hearth_watch *watch)
{
	if (watch->sharing && hearth_sharing_refuses(execute_data, return_value, watch)) {
		return;
	}
	if (watch->begins && hearth_current && hearth_refuse_more(watch->begins)) {
		return;
	}
	if (watch->of_process) {
		hearth_process_state_note();
	}
	if (watch->of_session) {
		hearth_session_call(execute_data, return_value, watch->original);
		return;
	}
	if (watch->bails_out && !hearth_current) {
		hearth_soap_call(execute_data, return_value, watch->original);
		return;
	}
	if (watch->no_suspend) {
		hearth_section *section = hearth_section_enter(__builtin_frame_address(0));

		watch->original(INTERNAL_FUNCTION_PARAM_PASSTHRU);
		hearth_section_leave(section);
		return;
	}
	if (watch->suspends_fiber && hearth_current) {
		hearth_use_suspends_fiber(execute_data, return_value, watch);
		return;
	}
	if (!watch->use || !hearth_current) {
		watch->original(INTERNAL_FUNCTION_PARAM_PASSTHRU);
		return;
	}
	hearth_use(execute_data, return_value, watch);
}

static void on_watched(INTERNAL_FUNCTION_PARAMETERS)
{
	const hearth_watch *watch = EX(func)->internal_function.reserved[slot];

	if (EXPECTED(watch->only_uses && hearth_current)) {
		hearth_use(execute_data, return_value, watch);
		return;
	}
	if (UNEXPECTED(watch->keeps)) {
		hearth_process_state before;

		hearth_process_keep(&before, watch->keeps);
		call_watched(INTERNAL_FUNCTION_PARAM_PASSTHRU, watch);
		hearth_process_put_back(&before);
		return;
	}
	call_watched(INTERNAL_FUNCTION_PARAM_PASSTHRU, watch);
}

const hearth_watch *hearth_watch_known(const zend_function *function)
{
	return function->type == ZEND_INTERNAL_FUNCTION && function->internal_function.handler == on_watched
		? function->internal_function.reserved[slot] : NULL;
}

static zend_ulong key_of(zif_handler handler)
{
	return (zend_ulong) (uintptr_t) handler;
}

hearth_watch *hearth_watch_of(zend_function *function)
{
	zif_handler handler = function->internal_function.handler;
	hearth_watch *watch = zend_hash_index_find_ptr(&watches, key_of(handler));

	if (!watch) {
		watch = pecalloc(1, sizeof *watch, 1);
		watch->original = handler;
		zend_hash_index_add_new_ptr(&watches, key_of(handler), watch);
	}
	return watch;
}

static void replace(HashTable *functions)
{
	zend_function *function;
	zif_handler original;
	hearth_watch *watch;

	ZEND_HASH_FOREACH_PTR(functions, function) {
		if (function->type != ZEND_INTERNAL_FUNCTION) {
			continue;
		}
		watch = zend_hash_index_find_ptr(&watches, key_of(function->internal_function.handler));
		if (watch) {
			function->internal_function.reserved[slot] = watch;
			hearth_replace_handler(function, &original, on_watched);
		}
	} ZEND_HASH_FOREACH_END();
}

static void note_which_only_use(void)
{
	hearth_watch *watch;

	ZEND_HASH_FOREACH_PTR(&watches, watch) {
		watch->only_uses = watch->use && !watch->sharing && !watch->suspends_fiber && !watch->no_suspend && !watch->keeps
			&& !watch->begins && !watch->bails_out && !watch->of_process && !watch->of_session;
	} ZEND_HASH_FOREACH_END();
}

/* Called once, when all extensions are loaded; opcache may have preloaded classes that inherit. */
void hearth_watch_install(void)
{
	zend_class_entry *ce;

	slot = zend_get_resource_handle("hearth");
	if (slot < 0) {
		hearth_log(HEARTH_LOG_WARNING, "no slot for the functions that open connections (too many Zend extensions): persistent "
			"connections are not refused");
		return;
	}
	zend_hash_init(&watches, 512, NULL, NULL, 1);
	hearth_watch_sharing();
	hearth_watch_use();
	hearth_watch_no_suspend();
	hearth_marks_learn();
	hearth_watch_process();
	hearth_watch_soap();
	hearth_watch_begins();
	hearth_watch_session();
	note_which_only_use();
	replace(CG(function_table));
	ZEND_HASH_FOREACH_PTR(CG(class_table), ce) {
		replace(&ce->function_table);
	} ZEND_HASH_FOREACH_END();
}
