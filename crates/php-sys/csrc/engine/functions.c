/* The native functions of namespace Hearth. The rest of the library is PHP: php/src. */
#include "engine/engine.h"
#include "request/request.h"
#include "task/call.h"
#include "task/no_suspend.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

/* ---- requests ---- */

ZEND_FUNCTION(Hearth_defer)
{
	hearth_request_state *state;
	zend_fcall_info fci;
	zend_fcall_info_cache cache;
	zval callable;

	ZEND_PARSE_PARAMETERS_START(1, 1)
		Z_PARAM_FUNC(fci, cache)
	ZEND_PARSE_PARAMETERS_END();
	if (!hearth_in_task()) {
		return;
	}
	state = hearth_current->request;
	if (UNEXPECTED(hearth_refuse_more(HEARTH_ENDS_CODE))) {
		return;
	}
	if (!state->deferred) {
		state->deferred = zend_new_array(4);
	}
	ZVAL_COPY(&callable, &fci.function_name);
	zend_hash_next_index_insert(state->deferred, &callable);
}

/* Returns '' for work that belongs to no request. */
static void return_request_id(hearth_request_state *state, zval *return_value)
{
	char id[16];

	if (!state || !state->request) {
		RETURN_EMPTY_STRING();
	}
	hearth_on_request_id(state->request, id);
	RETURN_STRINGL(id, sizeof id);
}

ZEND_FUNCTION(Hearth_requestId)
{
	ZEND_PARSE_PARAMETERS_NONE();
	return_request_id(hearth_current_request(), return_value);
}

/* ---- Hearth\Internal ---- */

static zend_long process_id;

static void forget_process_id(void)
{
	process_id = 0;
}

/* Cached: getpid() is a system call each time. */
zend_long hearth_process_id(void)
{
	static bool watched;

	if (UNEXPECTED(!process_id)) {
		watched = watched || pthread_atfork(NULL, NULL, forget_process_id) == 0;
		if (!watched) {
			return getpid();
		}
		process_id = getpid();
	}
	return process_id;
}

ZEND_FUNCTION(Hearth_Internal_processId)
{
	ZEND_PARSE_PARAMETERS_NONE();
	RETURN_LONG(hearth_process_id());
}

ZEND_FUNCTION(Hearth_Internal_taskId)
{
	ZEND_PARSE_PARAMETERS_NONE();
	RETURN_LONG((zend_long) hearth_current_task_id());
}

ZEND_FUNCTION(Hearth_Internal_setEffectiveTask)
{
	zend_long id;

	ZEND_PARSE_PARAMETERS_START(1, 1)
		Z_PARAM_LONG(id)
	ZEND_PARSE_PARAMETERS_END();
	if (hearth_in_task()) {
		hearth_current->effective_task = (uint64_t) id;
	}
}

ZEND_FUNCTION(Hearth_Internal_effectiveTask)
{
	zend_long id;
	hearth_task *task;

	ZEND_PARSE_PARAMETERS_START(1, 1)
		Z_PARAM_LONG(id)
	ZEND_PARSE_PARAMETERS_END();
	task = hearth_task_by_id((uint64_t) id);
	RETURN_LONG(task && task->effective_task ? (zend_long) task->effective_task : id);
}

ZEND_FUNCTION(Hearth_Internal_park)
{
	double seconds = -1;
	bool unlimited = true;

	ZEND_PARSE_PARAMETERS_START(0, 1)
		Z_PARAM_OPTIONAL
		Z_PARAM_DOUBLE_OR_NULL(seconds, unlimited)
	ZEND_PARSE_PARAMETERS_END();
	if (!hearth_in_task() || hearth_is_no_number(seconds, unlimited)) {
		return;
	}
	if (!hearth_may_suspend()) {
		hearth_refuse_wait();
		return;
	}
	RETVAL_BOOL(hearth_task_wait_for_wake(unlimited ? -1 : seconds < 0 ? 0 : seconds) == 0);
	hearth_bail_out_if_fatal();
}

ZEND_FUNCTION(Hearth_Internal_unpark)
{
	zend_long id;
	hearth_task *task;

	ZEND_PARSE_PARAMETERS_START(1, 1)
		Z_PARAM_LONG(id)
	ZEND_PARSE_PARAMETERS_END();
	task = hearth_task_by_id((uint64_t) id);
	RETURN_BOOL(task && task->owner && hearth_on_unpark(task->owner));
}

ZEND_FUNCTION(Hearth_Internal_onTaskEnd)
{
	zend_long id;
	zval *callable;
	hearth_task *task;

	ZEND_PARSE_PARAMETERS_START(2, 2)
		Z_PARAM_LONG(id)
		Z_PARAM_ZVAL(callable)
	ZEND_PARSE_PARAMETERS_END();
	task = hearth_task_by_id((uint64_t) id);
	if (!task) {
		zend_argument_value_error(1, "is not the id of a task that runs");
		return;
	}
	if (!hearth_is_callable(callable, 2)) {
		return;
	}
	Z_TRY_ADDREF_P(callable);
	if (Z_TYPE(task->on_end) == IS_UNDEF) {
		ZVAL_COPY_VALUE(&task->on_end, callable);
		return;
	}
	if (!task->more_on_end) {
		task->more_on_end = zend_new_array(4);
	}
	zend_hash_next_index_insert(task->more_on_end, callable);
}

ZEND_FUNCTION(Hearth_Internal_requestOf)
{
	zend_long id;
	hearth_task *task;

	ZEND_PARSE_PARAMETERS_START(1, 1)
		Z_PARAM_LONG(id)
	ZEND_PARSE_PARAMETERS_END();
	task = hearth_task_by_id((uint64_t) id);
	return_request_id(task ? task->request : NULL, return_value);
}

ZEND_FUNCTION(Hearth_Internal_locals)
{
	hearth_request_state *state;

	ZEND_PARSE_PARAMETERS_NONE();
	if (!hearth_in_task()) {
		return;
	}
	state = hearth_current->request;
	if (Z_TYPE(state->locals) == IS_UNDEF) {
		zend_class_entry *ce = zend_hash_str_find_ptr(CG(class_table), ZEND_STRL("weakmap"));

		/* Without its object the request has released its values, and destructors run. */
		if (UNEXPECTED(!state->request_object) && hearth_refuse_more(HEARTH_ENDS_CODE)) {
			return;
		}
		object_init_ex(&state->locals, ce);
	}
	RETURN_COPY(&state->locals);
}

double hearth_monotonic(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double) now.tv_sec + (double) now.tv_nsec / 1e9;
}

ZEND_FUNCTION(Hearth_Internal_monotonic)
{
	ZEND_PARSE_PARAMETERS_NONE();
	RETURN_DOUBLE(hearth_monotonic());
}

/* ---- connection budget, counted over all workers ---- */

ZEND_FUNCTION(Hearth_Internal_budget)
{
	zend_string *name;
	zend_long total;

	ZEND_PARSE_PARAMETERS_START(2, 2)
		Z_PARAM_STR(name)
		Z_PARAM_LONG(total)
	ZEND_PARSE_PARAMETERS_END();
	RETURN_LONG((zend_long) hearth_on_budget((hearth_str){ZSTR_VAL(name), ZSTR_LEN(name)}, total));
}

ZEND_FUNCTION(Hearth_Internal_budgetAcquire)
{
	zend_long handle, n = 1;

	ZEND_PARSE_PARAMETERS_START(1, 2)
		Z_PARAM_LONG(handle)
		Z_PARAM_OPTIONAL
		Z_PARAM_LONG(n)
	ZEND_PARSE_PARAMETERS_END();
	RETURN_BOOL(hearth_on_budget_acquire(handle, n));
}

ZEND_FUNCTION(Hearth_Internal_budgetRelease)
{
	zend_long handle, n = 1;

	ZEND_PARSE_PARAMETERS_START(1, 2)
		Z_PARAM_LONG(handle)
		Z_PARAM_OPTIONAL
		Z_PARAM_LONG(n)
	ZEND_PARSE_PARAMETERS_END();
	hearth_on_budget_release(handle, n);
}

ZEND_FUNCTION(Hearth_Internal_budgetUsed)
{
	zend_long handle;

	ZEND_PARSE_PARAMETERS_START(1, 1)
		Z_PARAM_LONG(handle)
	ZEND_PARSE_PARAMETERS_END();
	RETURN_LONG((zend_long) hearth_on_budget_used(handle));
}

/* ---- reports to the server ---- */

ZEND_FUNCTION(Hearth_Internal_report)
{
	zend_string *text;

	ZEND_PARSE_PARAMETERS_START(1, 1)
		Z_PARAM_STR(text)
	ZEND_PARSE_PARAMETERS_END();
	hearth_on_report((hearth_str){ZSTR_VAL(text), ZSTR_LEN(text)});
}
