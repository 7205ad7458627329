/* Tasks that call a function and keep its result: async(), background(), a timer. And the callbacks at any task's end. */
#include "engine/engine.h"
#include "pool/pool.h"
#include "request/request.h"
#include "task/task.h"
#include "task/task_object.h"
#include "task/call.h"
#include "task/collector.h"
#include "task/kept_values.h"

/* Keeps the exception that the call has ended with for the task that awaits it, or logs it. */
static void take_exception(hearth_task *task, hearth_task_object *object)
{
	if (zend_is_unwind_exit(EG(exception))) {
		zend_clear_exception();
		task->left = true;
		return;
	}
	EG(exit_status) = 255;
	if (object) {
		object->exception = EG(exception);
		GC_ADDREF(object->exception);
		zend_clear_exception();
	} else {
		hearth_report_exception();
	}
}

static void finish_call(hearth_task *task, zval *result)
{
	hearth_task_object *object = task->object ? hearth_task_object_of(task->object) : NULL;

	if (EG(exception)) {
		take_exception(task, object);
	}
	if (object) {
		ZVAL_COPY_VALUE(&object->result, result);
	} else {
		zval_ptr_dtor(result);
	}
}

static bool is_closure(const zval *callable)
{
	return Z_TYPE_P(callable) == IS_OBJECT && Z_OBJCE_P(callable) == zend_ce_closure;
}

/* Nearly all callables are closures, which can always be called. Throws the engine's reason if a value cannot. */
bool hearth_is_callable(zval *callable, uint32_t argument)
{
	char *error = NULL;

	if (EXPECTED(is_closure(callable)) || zend_is_callable_ex(callable, NULL, 0, NULL, NULL, &error)) {
		return true;
	}
	if (!EG(exception)) {
		zend_argument_type_error(argument, "must be a valid callback, %s", error);
	}
	if (error) {
		efree(error);
	}
	return false;
}

/* A closure knows its function; for any other callable the engine looks the function up at each call. */
void hearth_call(zval *callable, zval *result, uint32_t argc, zval *args)
{
	zend_fcall_info fci = { .size = sizeof fci, .retval = result, .params = args, .param_count = argc };
	zend_fcall_info_cache cache = {0}, *known = NULL;

	ZVAL_UNDEF(result);
	ZVAL_COPY_VALUE(&fci.function_name, callable);
	if (EXPECTED(is_closure(callable)) && Z_OBJ_HANDLER_P(callable, get_closure)(Z_OBJ_P(callable),
			&cache.called_scope, &cache.function_handler, &cache.object, false) == SUCCESS) {
		known = &cache;
	}
	if (zend_call_function(&fci, known) == FAILURE && !EG(exception)) {
		zend_throw_error(NULL, "This callable cannot be called");
	}
}

static void run_call(hearth_task *task)
{
	zval result;

	if (task->background) {
		hearth_boot_settings_apply();
	}
	if (task->job == HEARTH_JOB_COLLECT) {
		ZVAL_UNDEF(&result);
		hearth_collector_run();
	} else {
		hearth_call(&task->callable, &result, task->argc, task->args);
	}
	hearth_bail_out_of_memory();
	finish_call(task, &result);
}

static void call_on_end(zval *callback, hearth_task *task)
{
	zval arguments[2], result;

	ZVAL_LONG(&arguments[0], (zend_long) hearth_task_id(task));
	ZVAL_BOOL(&arguments[1], task->interrupted);
	hearth_call(callback, &result, 2, arguments);
	zval_ptr_dtor(&result);
	if (EG(exception)) {
		hearth_report_exception();
	}
}

static void run_callbacks(hearth_task *task)
{
	HashTable *more = task->more_on_end;
	zval first, *callback;

	ZVAL_COPY_VALUE(&first, &task->on_end);
	ZVAL_UNDEF(&task->on_end);
	task->more_on_end = NULL;
	if (more) {
		ZEND_HASH_REVERSE_FOREACH_VAL(more, callback) {
			call_on_end(callback, task);
		} ZEND_HASH_FOREACH_END();
		zend_array_destroy(more);
	}
	call_on_end(&first, task);
	zval_ptr_dtor(&first);
}

void hearth_task_run_callbacks(hearth_task *task)
{
	while (Z_TYPE(task->on_end) != IS_UNDEF) {
		run_callbacks(task);
	}
}

/*
 * Calls the callbacks registered by onTaskEnd(), newest first; they may register more, and borrow connections.
 * Leases are returned last.
 */
void hearth_task_run_on_end(hearth_task *task)
{
	while (hearth_task_has_end(task)) {
		/* Out of memory, no callback would be called; what the task has is left for the end of the request. */
		hearth_bail_out_of_memory();
		if (Z_TYPE(task->on_end) != IS_UNDEF) {
			run_callbacks(task);
		} else if (task->kept_values) {
			hearth_kept_values_release(task);
		} else {
			hearth_lease_table_return_all(task);
		}
	}
}

/* Destructors of what the call was given may begin more, which its end must still find. */
static void release_call(hearth_task *task)
{
	zval callable;
	zval *args = task->args;
	uint32_t argc = task->argc;

	ZVAL_COPY_VALUE(&callable, &task->callable);
	ZVAL_UNDEF(&task->callable);
	task->args = NULL;
	task->argc = 0;
	zval_ptr_dtor(&callable);
	for (uint32_t i = 0; i < argc; i++) {
		zval_ptr_dtor(&args[i]);
	}
	if (args) {
		efree(args);
	}
	if (EG(exception)) {
		hearth_report_exception();
	}
}

static void end_of_call(hearth_task *task)
{
	release_call(task);
	if (task->background) {
		/* Background work has a request state of its own, which ends with it. */
		hearth_request_end(task);
	} else {
		hearth_task_run_on_end(task);
	}
	hearth_buffers_end();
	php_output_deactivate();
	hearth_task_object_end(task, NULL);
}

void hearth_call_run(hearth_task *task)
{
	run_call(task);
	end_of_call(task);
}
