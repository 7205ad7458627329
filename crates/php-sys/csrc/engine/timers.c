/* Timers, and other calls from the server into PHP: the callback is kept here; Rust has the clock. */
#include "engine/engine.h"

static HashTable timers;
static zend_ulong next_timer = 1;

static void timer_function(INTERNAL_FUNCTION_PARAMETERS, bool repeat)
{
	double seconds;
	zend_fcall_info fci;
	zend_fcall_info_cache cache;
	zval callable;

	ZEND_PARSE_PARAMETERS_START(2, 2)
		Z_PARAM_DOUBLE(seconds)
		Z_PARAM_FUNC(fci, cache)
	ZEND_PARSE_PARAMETERS_END();
	if (!(seconds >= 0) || seconds > 1e9) {
		zend_argument_value_error(1, "must be a number of seconds from 0 to 1e9");
		return;
	}
	if (!timers.nTableSize) {
		zend_hash_init(&timers, 8, NULL, ZVAL_PTR_DTOR, 0);
	}
	ZVAL_COPY(&callable, &fci.function_name);
	zend_hash_index_update(&timers, next_timer, &callable);
	hearth_on_timer(seconds, repeat, next_timer);
	RETURN_LONG((zend_long) next_timer++);
}

ZEND_FUNCTION(Hearth_Internal_after) { timer_function(INTERNAL_FUNCTION_PARAM_PASSTHRU, false); }
ZEND_FUNCTION(Hearth_Internal_every) { timer_function(INTERNAL_FUNCTION_PARAM_PASSTHRU, true); }

ZEND_FUNCTION(Hearth_Internal_stopTimer)
{
	zend_long id;

	ZEND_PARSE_PARAMETERS_START(1, 1)
		Z_PARAM_LONG(id)
	ZEND_PARSE_PARAMETERS_END();
	hearth_on_timer_stop((uint64_t) id);
	if (timers.nTableSize) {
		zend_hash_index_del(&timers, (zend_ulong) id);
	}
}

/* Returns a task that calls the timer's callback; NULL if the timer was stopped. */
hearth_task *hearth_timer_task(uint64_t callback, void *owner)
{
	zval *callable = timers.nTableSize ? zend_hash_index_find(&timers, callback) : NULL;
	hearth_task *task;

	if (!callable) {
		return NULL;
	}
	task = hearth_task_new(HEARTH_JOB_CALL, hearth_request_state_new(NULL));
	task->background = true;
	task->owner = owner;
	ZVAL_COPY(&task->callable, callable);
	return task;
}

/* No task runs here: without zend_try, running out of memory would end the process. */
static bool make_call(const char *method, double argument, zval *callable, zval **args)
{
	volatile bool made = false;

	zend_try {
		ZVAL_STR(callable, zend_strpprintf(0, "Hearth\\Internal\\PoolReports::%s", method));
		*args = emalloc(sizeof(zval));
		ZVAL_DOUBLE(*args, argument);
		made = true;
	} zend_end_try();
	return made;
}

/* Returns a task that calls a method of PoolReports; NULL where there are no pools, or no memory. */
hearth_task *hearth_call_pools(const char *method, double argument, void *owner)
{
	hearth_task *task;
	zval callable, *args;

	if (!zend_hash_str_exists(CG(class_table), ZEND_STRL("hearth\\pool\\pools")) || !make_call(method, argument, &callable, &args)) {
		return NULL;
	}
	task = hearth_task_new(HEARTH_JOB_CALL, hearth_request_state_new(NULL));
	task->background = true;
	task->owner = owner;
	task->callable = callable;
	task->argc = 1;
	task->args = args;
	return task;
}

void hearth_timer_forget(uint64_t callback)
{
	if (timers.nTableSize) {
		zend_hash_index_del(&timers, callback);
	}
}
