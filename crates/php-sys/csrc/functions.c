/* The native functions of namespace Hearth, and the class Hearth\Task. The rest of the library is PHP: php/src. */
#include "task.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

/* mysql.c */
ZEND_FUNCTION(Hearth_Internal_mysqlReset);
ZEND_FUNCTION(Hearth_Internal_hasInput);

zend_class_entry *hearth_task_ce;
static zend_object_handlers task_handlers;

hearth_task_object *hearth_task_object_of(zend_object *object)
{
	return (hearth_task_object *) ((char *) object - XtOffsetOf(hearth_task_object, std));
}

static zend_object *create_task(zend_class_entry *ce)
{
	hearth_task_object *self = zend_object_alloc(sizeof(hearth_task_object), ce);

	memset(self, 0, XtOffsetOf(hearth_task_object, std));
	ZVAL_UNDEF(&self->result);
	zend_object_std_init(&self->std, ce);
	self->std.handlers = &task_handlers;
	return &self->std;
}

static void free_task(zend_object *object)
{
	hearth_task_object *self = hearth_task_object_of(object);

	if (self->exception && !self->seen && !hearth_broken && !zend_is_unwind_exit(self->exception)) {
		zend_string *what = self->exception->ce->name;
		hearth_log(HEARTH_LOG_WARNING, "A task ended with %s and nobody awaited it", ZSTR_VAL(what));
	}
	zval_ptr_dtor(&self->result);
	if (self->exception) {
		OBJ_RELEASE(self->exception);
	}
	if (self->owner) {
		hearth_on_owner_release(self->owner);
	}
	zend_object_std_dtor(object);
}

static bool in_task(void)
{
	if (hearth_current) {
		return true;
	}
	zend_throw_error(NULL, "This needs a running task: the entry script is run once, before there is anything to wait on. "
		"Call it in the handler, or use hearth run");
	return false;
}

static void start(zval *callable, zval *args, uint32_t argc, bool child, zval *return_value)
{
	hearth_task *parent = hearth_current, *task;
	hearth_request_state *request;
	hearth_task_object *object;

	if (!in_task()) {
		return;
	}
	request = child && parent->request ? parent->request : NULL;
	if (request) {
		request->tasks++;
	} else {
		request = hearth_request_state_new(NULL);
	}
	task = hearth_task_new(HEARTH_JOB_CALL, request);
	task->background = request != parent->request;
	ZVAL_COPY(&task->callable, callable);
	task->argc = argc;
	task->args = argc ? safe_emalloc(argc, sizeof(zval), 0) : NULL;
	for (uint32_t i = 0; i < argc; i++) {
		ZVAL_COPY(&task->args[i], &args[i]);
	}
	RETVAL_OBJ(create_task(hearth_task_ce));
	object = hearth_task_object_of(Z_OBJ_P(return_value));
	task->object = Z_OBJ_P(return_value);
	GC_ADDREF(task->object);
	object->task = task;
	object->owner = hearth_on_task_new(parent->owner, task, child);
	task->owner = object->owner;
	hearth_on_task_start(object->owner);
}

static void start_function(INTERNAL_FUNCTION_PARAMETERS, bool child)
{
	zend_fcall_info fci;
	zend_fcall_info_cache cache;
	zval *args = NULL;
	uint32_t argc = 0;

	ZEND_PARSE_PARAMETERS_START(1, -1)
		Z_PARAM_FUNC(fci, cache)
		Z_PARAM_VARIADIC('*', args, argc)
	ZEND_PARSE_PARAMETERS_END();
	start(&fci.function_name, args, argc, child, return_value);
}

ZEND_FUNCTION(Hearth_async) { start_function(INTERNAL_FUNCTION_PARAM_PASSTHRU, true); }
ZEND_FUNCTION(Hearth_background) { start_function(INTERNAL_FUNCTION_PARAM_PASSTHRU, false); }

/* ---- Hearth\Task ---- */

ZEND_METHOD(Hearth_Task, __construct) { }

ZEND_METHOD(Hearth_Task, await)
{
	hearth_task_object *self = hearth_task_object_of(Z_OBJ_P(ZEND_THIS));
	double seconds = -1;
	bool unlimited = true;

	ZEND_PARSE_PARAMETERS_START(0, 1)
		Z_PARAM_OPTIONAL
		Z_PARAM_DOUBLE_OR_NULL(seconds, unlimited)
	ZEND_PARSE_PARAMETERS_END();
	if (!self->done) {
		if (!in_task()) {
			return;
		}
		switch (hearth_on_await(self->owner, unlimited ? -1 : seconds)) {
			case 1:
				hearth_throw(HEARTH_THROW_TIMEOUT, (hearth_str){ZEND_STRL("The task did not end in time")});
				return;
			case 2:
				return;
		}
	}
	self->seen = true;
	if (self->exception) {
		GC_ADDREF(self->exception);
		zend_throw_exception_internal(self->exception);
		return;
	}
	if (Z_TYPE(self->result) != IS_UNDEF) {
		RETURN_COPY_DEREF(&self->result);
	}
}

ZEND_METHOD(Hearth_Task, cancel)
{
	hearth_task_object *self = hearth_task_object_of(Z_OBJ_P(ZEND_THIS));

	ZEND_PARSE_PARAMETERS_NONE();
	self->seen = true;
	if (!self->done) {
		hearth_on_cancel(self->owner);
	}
}

ZEND_METHOD(Hearth_Task, isDone)
{
	ZEND_PARSE_PARAMETERS_NONE();
	RETURN_BOOL(hearth_task_object_of(Z_OBJ_P(ZEND_THIS))->done);
}

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
	if (!in_task()) {
		return;
	}
	state = hearth_current->request;
	if (!state->deferred) {
		state->deferred = zend_new_array(4);
	}
	ZVAL_COPY(&callable, &fci.function_name);
	zend_hash_next_index_insert(state->deferred, &callable);
}

ZEND_FUNCTION(Hearth_requestId)
{
	hearth_request_state *state = hearth_current_request();
	char id[16];

	ZEND_PARSE_PARAMETERS_NONE();
	if (!state || !state->request) {
		RETURN_EMPTY_STRING();
	}
	hearth_on_request_id(state->request, id);
	RETURN_STRINGL(id, sizeof id);
}

/* ---- Hearth\Internal ---- */

static zend_long process_id;

static void forget_process_id(void)
{
	process_id = 0;
}

/* getmypid() asks the kernel each time. */
ZEND_FUNCTION(Hearth_Internal_processId)
{
	static bool watched;

	ZEND_PARSE_PARAMETERS_NONE();
	if (UNEXPECTED(!process_id)) {
		watched = watched || pthread_atfork(NULL, NULL, forget_process_id) == 0;
		if (!watched) {
			RETURN_LONG(getpid());
		}
		process_id = getpid();
	}
	RETURN_LONG(process_id);
}

ZEND_FUNCTION(Hearth_Internal_taskId)
{
	ZEND_PARSE_PARAMETERS_NONE();
	RETURN_LONG((zend_long) hearth_current_task_id());
}

ZEND_FUNCTION(Hearth_Internal_park)
{
	double seconds = -1;
	bool unlimited = true;

	ZEND_PARSE_PARAMETERS_START(0, 1)
		Z_PARAM_OPTIONAL
		Z_PARAM_DOUBLE_OR_NULL(seconds, unlimited)
	ZEND_PARSE_PARAMETERS_END();
	if (!in_task()) {
		return;
	}
	if (hearth_no_switch || zend_fiber_switch_blocked()) {
		zend_throw_error(NULL, "A task cannot wait here: inside an autoloader, the compiler, the garbage collector, "
			"or another place where the engine forbids a switch");
		return;
	}
	RETURN_BOOL(hearth_on_park(unlimited ? -1 : seconds < 0 ? 0 : seconds) == 0);
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
	zend_fcall_info fci;
	zend_fcall_info_cache cache;
	hearth_task *task;
	zval callable;

	ZEND_PARSE_PARAMETERS_START(2, 2)
		Z_PARAM_LONG(id)
		Z_PARAM_FUNC(fci, cache)
	ZEND_PARSE_PARAMETERS_END();
	task = hearth_task_by_id((uint64_t) id);
	if (!task) {
		zend_argument_value_error(1, "is not the id of a task that runs");
		return;
	}
	if (!task->on_end) {
		task->on_end = zend_new_array(4);
	}
	ZVAL_COPY(&callable, &fci.function_name);
	zend_hash_next_index_insert(task->on_end, &callable);
}

ZEND_FUNCTION(Hearth_Internal_locals)
{
	hearth_request_state *state;

	ZEND_PARSE_PARAMETERS_NONE();
	if (!in_task()) {
		return;
	}
	state = hearth_current->request;
	if (Z_TYPE(state->locals) == IS_UNDEF) {
		zend_class_entry *ce = zend_hash_str_find_ptr(CG(class_table), ZEND_STRL("weakmap"));
		object_init_ex(&state->locals, ce);
	}
	RETURN_COPY(&state->locals);
}

ZEND_FUNCTION(Hearth_Internal_monotonic)
{
	struct timespec now;

	ZEND_PARSE_PARAMETERS_NONE();
	clock_gettime(CLOCK_MONOTONIC, &now);
	RETURN_DOUBLE((double) now.tv_sec + (double) now.tv_nsec / 1e9);
}

/* ---- timers: the callback is kept here, the clock is Rust's ---- */

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

/* A task that calls the timer's callback; NULL when it was stopped. */
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

hearth_task *hearth_call_task(const char *function, double argument, void *owner)
{
	hearth_task *task;

	if (!zend_hash_str_find_ptr_lc(CG(function_table), function, strlen(function))) {
		return NULL;
	}
	task = hearth_task_new(HEARTH_JOB_CALL, hearth_request_state_new(NULL));
	task->background = true;
	task->owner = owner;
	ZVAL_STRING(&task->callable, function);
	task->argc = 1;
	task->args = emalloc(sizeof(zval));
	ZVAL_DOUBLE(task->args, argument);
	return task;
}

void hearth_timer_forget(uint64_t callback)
{
	if (timers.nTableSize) {
		zend_hash_index_del(&timers, callback);
	}
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
ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_bool, 0, 0, _IS_BOOL, 0)
ZEND_END_ARG_INFO()
ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_void, 0, 0, IS_VOID, 0)
ZEND_END_ARG_INFO()
ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_park, 0, 0, _IS_BOOL, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, timeout, IS_DOUBLE, 1, "null")
ZEND_END_ARG_INFO()
ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_await, 0, 0, IS_MIXED, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, timeout, IS_DOUBLE, 1, "null")
ZEND_END_ARG_INFO()
ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_id_bool, 0, 1, _IS_BOOL, 0)
	ZEND_ARG_TYPE_INFO(0, id, IS_LONG, 0)
ZEND_END_ARG_INFO()
ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_id_void, 0, 1, IS_VOID, 0)
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
ZEND_BEGIN_ARG_INFO_EX(arginfo_constructor, 0, 0, 0)
ZEND_END_ARG_INFO()

const zend_function_entry hearth_functions[] = {
	ZEND_NS_NAMED_FE("Hearth", async, ZEND_FN(Hearth_async), arginfo_start)
	ZEND_NS_NAMED_FE("Hearth", background, ZEND_FN(Hearth_background), arginfo_start)
	ZEND_NS_NAMED_FE("Hearth", defer, ZEND_FN(Hearth_defer), arginfo_callable_void)
	ZEND_NS_NAMED_FE("Hearth", requestId, ZEND_FN(Hearth_requestId), arginfo_string)
	ZEND_NS_NAMED_FE("Hearth\\Internal", processId, ZEND_FN(Hearth_Internal_processId), arginfo_int)
	ZEND_NS_NAMED_FE("Hearth\\Internal", taskId, ZEND_FN(Hearth_Internal_taskId), arginfo_int)
	ZEND_NS_NAMED_FE("Hearth\\Internal", park, ZEND_FN(Hearth_Internal_park), arginfo_park)
	ZEND_NS_NAMED_FE("Hearth\\Internal", unpark, ZEND_FN(Hearth_Internal_unpark), arginfo_id_bool)
	ZEND_NS_NAMED_FE("Hearth\\Internal", onTaskEnd, ZEND_FN(Hearth_Internal_onTaskEnd), arginfo_on_end)
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
	ZEND_NS_NAMED_FE("Hearth\\Internal", mysqlReset, ZEND_FN(Hearth_Internal_mysqlReset), arginfo_connection)
	ZEND_NS_NAMED_FE("Hearth\\Internal", hasInput, ZEND_FN(Hearth_Internal_hasInput), arginfo_connection)
	ZEND_FE_END
};

static const zend_function_entry task_methods[] = {
	ZEND_ME(Hearth_Task, __construct, arginfo_constructor, ZEND_ACC_PRIVATE)
	ZEND_ME(Hearth_Task, await, arginfo_await, ZEND_ACC_PUBLIC)
	ZEND_ME(Hearth_Task, cancel, arginfo_void, ZEND_ACC_PUBLIC)
	ZEND_ME(Hearth_Task, isDone, arginfo_bool, ZEND_ACC_PUBLIC)
	ZEND_FE_END
};

void hearth_register_request(void);

void hearth_register_classes(void)
{
	zend_class_entry ce;

	hearth_register_request();
	INIT_NS_CLASS_ENTRY(ce, "Hearth", "Task", task_methods);
	hearth_task_ce = zend_register_internal_class(&ce);
	hearth_task_ce->ce_flags |= ZEND_ACC_FINAL | ZEND_ACC_NO_DYNAMIC_PROPERTIES | ZEND_ACC_NOT_SERIALIZABLE;
	hearth_task_ce->create_object = create_task;
	memcpy(&task_handlers, zend_get_std_object_handlers(), sizeof task_handlers);
	task_handlers.offset = XtOffsetOf(hearth_task_object, std);
	task_handlers.free_obj = free_task;
	task_handlers.clone_obj = NULL;
}
