/* The native functions of namespace Hearth. The rest of the library is PHP: php/src. */
#include "engine/engine.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

/* task/task_object.c, engine/timers.c, pool/database.c */
ZEND_FUNCTION(Hearth_async);
ZEND_FUNCTION(Hearth_background);
ZEND_FUNCTION(Hearth_parallel);
ZEND_FUNCTION(Hearth_race);
ZEND_FUNCTION(Hearth_timeout);
ZEND_FUNCTION(Hearth_every);
ZEND_FUNCTION(Hearth_after);
ZEND_FUNCTION(Hearth_Internal_after);
ZEND_FUNCTION(Hearth_Internal_every);
ZEND_FUNCTION(Hearth_Internal_stopTimer);
ZEND_FUNCTION(Hearth_Internal_mysqlReset);
ZEND_FUNCTION(Hearth_Internal_mysqlThread);
ZEND_FUNCTION(Hearth_Internal_hasInput);
ZEND_FUNCTION(Hearth_Internal_hasUnreadResult);
ZEND_FUNCTION(Hearth_Internal_disconnect);
ZEND_FUNCTION(Hearth_Internal_hasLeft);
ZEND_FUNCTION(Hearth_Internal_withTexts);
ZEND_FUNCTION(Hearth_Internal_isInterrupted);

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
	if (!state->deferred) {
		state->deferred = zend_new_array(4);
	}
	ZVAL_COPY(&callable, &fci.function_name);
	zend_hash_next_index_insert(state->deferred, &callable);
}

/* '' for work that is no request's. */
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

/* getpid() asks the kernel each time. */
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

ZEND_FUNCTION(Hearth_Internal_actFor)
{
	zend_long id;

	ZEND_PARSE_PARAMETERS_START(1, 1)
		Z_PARAM_LONG(id)
	ZEND_PARSE_PARAMETERS_END();
	if (hearth_in_task()) {
		hearth_current->acts_for = (uint64_t) id;
	}
}

ZEND_FUNCTION(Hearth_Internal_actsFor)
{
	zend_long id;
	hearth_task *task;

	ZEND_PARSE_PARAMETERS_START(1, 1)
		Z_PARAM_LONG(id)
	ZEND_PARSE_PARAMETERS_END();
	task = hearth_task_by_id((uint64_t) id);
	RETURN_LONG(task && task->acts_for ? (zend_long) task->acts_for : id);
}

ZEND_FUNCTION(Hearth_Internal_park)
{
	double seconds = -1;
	bool unlimited = true;

	ZEND_PARSE_PARAMETERS_START(0, 1)
		Z_PARAM_OPTIONAL
		Z_PARAM_DOUBLE_OR_NULL(seconds, unlimited)
	ZEND_PARSE_PARAMETERS_END();
	if (!hearth_in_task()) {
		return;
	}
	if (!hearth_may_suspend()) {
		hearth_refuse_wait();
		return;
	}
	RETVAL_BOOL(hearth_on_park(unlimited ? -1 : seconds < 0 ? 0 : seconds) == 0);
	hearth_bail_out_if_doomed();
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

/* ---- what the server asked for ---- */

ZEND_FUNCTION(Hearth_Internal_report)
{
	zend_string *text;

	ZEND_PARSE_PARAMETERS_START(1, 1)
		Z_PARAM_STR(text)
	ZEND_PARSE_PARAMETERS_END();
	hearth_on_report((hearth_str){ZSTR_VAL(text), ZSTR_LEN(text)});
}

/* ---- tables ---- */

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_INFO_EX(arginfo_start, 0, 1, Hearth\\Task, 0)
	ZEND_ARG_TYPE_INFO(0, callable, IS_CALLABLE, 0)
	ZEND_ARG_VARIADIC_TYPE_INFO(0, args, IS_MIXED, 0)
ZEND_END_ARG_INFO()
ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_callable_void, 0, 1, IS_VOID, 0)
	ZEND_ARG_TYPE_INFO(0, callable, IS_CALLABLE, 0)
ZEND_END_ARG_INFO()
ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_string, 0, 0, IS_STRING, 0)
ZEND_END_ARG_INFO()
ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_int, 0, 0, IS_LONG, 0)
ZEND_END_ARG_INFO()
ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_float, 0, 0, IS_DOUBLE, 0)
ZEND_END_ARG_INFO()
ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_park, 0, 0, _IS_BOOL, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, timeout, IS_DOUBLE, 1, "null")
ZEND_END_ARG_INFO()
ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_id_bool, 0, 1, _IS_BOOL, 0)
	ZEND_ARG_TYPE_INFO(0, id, IS_LONG, 0)
ZEND_END_ARG_INFO()
ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_id_void, 0, 1, IS_VOID, 0)
	ZEND_ARG_TYPE_INFO(0, id, IS_LONG, 0)
ZEND_END_ARG_INFO()
ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_id_int, 0, 1, IS_LONG, 0)
	ZEND_ARG_TYPE_INFO(0, id, IS_LONG, 0)
ZEND_END_ARG_INFO()
ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_id_string, 0, 1, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO(0, id, IS_LONG, 0)
ZEND_END_ARG_INFO()
ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_on_end, 0, 2, IS_VOID, 0)
	ZEND_ARG_TYPE_INFO(0, id, IS_LONG, 0)
	ZEND_ARG_TYPE_INFO(0, callable, IS_CALLABLE, 0)
ZEND_END_ARG_INFO()
ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_timer, 0, 2, IS_LONG, 0)
	ZEND_ARG_TYPE_INFO(0, seconds, IS_DOUBLE, 0)
	ZEND_ARG_TYPE_INFO(0, callable, IS_CALLABLE, 0)
ZEND_END_ARG_INFO()
ZEND_BEGIN_ARG_WITH_RETURN_OBJ_INFO_EX(arginfo_locals, 0, 0, WeakMap, 0)
ZEND_END_ARG_INFO()
ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_budget, 0, 2, IS_LONG, 0)
	ZEND_ARG_TYPE_INFO(0, name, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO(0, total, IS_LONG, 0)
ZEND_END_ARG_INFO()
ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_budget_acquire, 0, 1, _IS_BOOL, 0)
	ZEND_ARG_TYPE_INFO(0, handle, IS_LONG, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, n, IS_LONG, 0, "1")
ZEND_END_ARG_INFO()
ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_budget_release, 0, 1, IS_VOID, 0)
	ZEND_ARG_TYPE_INFO(0, handle, IS_LONG, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, n, IS_LONG, 0, "1")
ZEND_END_ARG_INFO()
ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_budget_used, 0, 1, IS_LONG, 0)
	ZEND_ARG_TYPE_INFO(0, handle, IS_LONG, 0)
ZEND_END_ARG_INFO()
ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_report, 0, 1, IS_VOID, 0)
	ZEND_ARG_TYPE_INFO(0, text, IS_STRING, 0)
ZEND_END_ARG_INFO()
ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_connection, 0, 1, _IS_BOOL, 0)
	ZEND_ARG_TYPE_INFO(0, connection, IS_OBJECT, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_with_texts, 0, 1, IS_ARRAY, 0)
	ZEND_ARG_TYPE_INFO(0, code, IS_CALLABLE, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_mysql_reset, 0, 1, _IS_BOOL, 0)
	ZEND_ARG_TYPE_INFO(0, connection, IS_OBJECT, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, statements, IS_ARRAY, 0, "[]")
ZEND_END_ARG_INFO()
ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_mysql_thread, 0, 1, IS_LONG, 0)
	ZEND_ARG_TYPE_INFO(0, connection, IS_OBJECT, 0)
ZEND_END_ARG_INFO()
ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_interrupted, 0, 2, _IS_BOOL, 0)
	ZEND_ARG_TYPE_INFO(0, connection, IS_OBJECT, 0)
	ZEND_ARG_TYPE_INFO(0, task, IS_LONG, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_parallel, 0, 1, IS_ARRAY, 0)
	ZEND_ARG_TYPE_INFO(0, callables, IS_ARRAY, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, limit, IS_LONG, 1, "null")
ZEND_END_ARG_INFO()
ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_race, 0, 1, IS_MIXED, 0)
	ZEND_ARG_TYPE_INFO(0, callables, IS_ARRAY, 0)
ZEND_END_ARG_INFO()
ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_timeout, 0, 2, IS_MIXED, 0)
	ZEND_ARG_TYPE_INFO(0, seconds, IS_DOUBLE, 0)
	ZEND_ARG_TYPE_INFO(0, fn, IS_CALLABLE, 0)
ZEND_END_ARG_INFO()
ZEND_BEGIN_ARG_WITH_RETURN_OBJ_INFO_EX(arginfo_public_timer, 0, 2, Hearth\\Timer, 0)
	ZEND_ARG_TYPE_INFO(0, seconds, IS_DOUBLE, 0)
	ZEND_ARG_TYPE_INFO(0, fn, IS_CALLABLE, 0)
ZEND_END_ARG_INFO()

const zend_function_entry hearth_functions[] = {
	ZEND_NS_NAMED_FE("Hearth", parallel, ZEND_FN(Hearth_parallel), arginfo_parallel)
	ZEND_NS_NAMED_FE("Hearth", race, ZEND_FN(Hearth_race), arginfo_race)
	ZEND_NS_NAMED_FE("Hearth", timeout, ZEND_FN(Hearth_timeout), arginfo_timeout)
	ZEND_NS_NAMED_FE("Hearth", every, ZEND_FN(Hearth_every), arginfo_public_timer)
	ZEND_NS_NAMED_FE("Hearth", after, ZEND_FN(Hearth_after), arginfo_public_timer)
	ZEND_NS_NAMED_FE("Hearth", async, ZEND_FN(Hearth_async), arginfo_start)
	ZEND_NS_NAMED_FE("Hearth", background, ZEND_FN(Hearth_background), arginfo_start)
	ZEND_NS_NAMED_FE("Hearth", defer, ZEND_FN(Hearth_defer), arginfo_callable_void)
	ZEND_NS_NAMED_FE("Hearth", requestId, ZEND_FN(Hearth_requestId), arginfo_string)
	ZEND_NS_NAMED_FE("Hearth\\Internal", processId, ZEND_FN(Hearth_Internal_processId), arginfo_int)
	ZEND_NS_NAMED_FE("Hearth\\Internal", taskId, ZEND_FN(Hearth_Internal_taskId), arginfo_int)
	ZEND_NS_NAMED_FE("Hearth\\Internal", actFor, ZEND_FN(Hearth_Internal_actFor), arginfo_id_void)
	ZEND_NS_NAMED_FE("Hearth\\Internal", actsFor, ZEND_FN(Hearth_Internal_actsFor), arginfo_id_int)
	ZEND_NS_NAMED_FE("Hearth\\Internal", park, ZEND_FN(Hearth_Internal_park), arginfo_park)
	ZEND_NS_NAMED_FE("Hearth\\Internal", unpark, ZEND_FN(Hearth_Internal_unpark), arginfo_id_bool)
	ZEND_NS_NAMED_FE("Hearth\\Internal", onTaskEnd, ZEND_FN(Hearth_Internal_onTaskEnd), arginfo_on_end)
	ZEND_NS_NAMED_FE("Hearth\\Internal", requestOf, ZEND_FN(Hearth_Internal_requestOf), arginfo_id_string)
	ZEND_NS_NAMED_FE("Hearth\\Internal", locals, ZEND_FN(Hearth_Internal_locals), arginfo_locals)
	ZEND_NS_NAMED_FE("Hearth\\Internal", monotonic, ZEND_FN(Hearth_Internal_monotonic), arginfo_float)
	ZEND_NS_NAMED_FE("Hearth\\Internal", after, ZEND_FN(Hearth_Internal_after), arginfo_timer)
	ZEND_NS_NAMED_FE("Hearth\\Internal", every, ZEND_FN(Hearth_Internal_every), arginfo_timer)
	ZEND_NS_NAMED_FE("Hearth\\Internal", stopTimer, ZEND_FN(Hearth_Internal_stopTimer), arginfo_id_void)
	ZEND_NS_NAMED_FE("Hearth\\Internal", budget, ZEND_FN(Hearth_Internal_budget), arginfo_budget)
	ZEND_NS_NAMED_FE("Hearth\\Internal", budgetAcquire, ZEND_FN(Hearth_Internal_budgetAcquire), arginfo_budget_acquire)
	ZEND_NS_NAMED_FE("Hearth\\Internal", budgetRelease, ZEND_FN(Hearth_Internal_budgetRelease), arginfo_budget_release)
	ZEND_NS_NAMED_FE("Hearth\\Internal", budgetUsed, ZEND_FN(Hearth_Internal_budgetUsed), arginfo_budget_used)
	ZEND_NS_NAMED_FE("Hearth\\Internal", report, ZEND_FN(Hearth_Internal_report), arginfo_report)
	ZEND_NS_NAMED_FE("Hearth\\Internal", mysqlReset, ZEND_FN(Hearth_Internal_mysqlReset), arginfo_mysql_reset)
	ZEND_NS_NAMED_FE("Hearth\\Internal", mysqlThread, ZEND_FN(Hearth_Internal_mysqlThread), arginfo_mysql_thread)
	ZEND_NS_NAMED_FE("Hearth\\Internal", hasInput, ZEND_FN(Hearth_Internal_hasInput), arginfo_connection)
	ZEND_NS_NAMED_FE("Hearth\\Internal", hasUnreadResult, ZEND_FN(Hearth_Internal_hasUnreadResult), arginfo_connection)
	ZEND_NS_NAMED_FE("Hearth\\Internal", disconnect, ZEND_FN(Hearth_Internal_disconnect), arginfo_connection)
	ZEND_NS_NAMED_FE("Hearth\\Internal", hasLeft, ZEND_FN(Hearth_Internal_hasLeft), arginfo_connection)
	ZEND_NS_NAMED_FE("Hearth\\Internal", withTexts, ZEND_FN(Hearth_Internal_withTexts), arginfo_with_texts)
	ZEND_NS_NAMED_FE("Hearth\\Internal", isInterrupted, ZEND_FN(Hearth_Internal_isInterrupted), arginfo_interrupted)
	ZEND_FE_END
};
