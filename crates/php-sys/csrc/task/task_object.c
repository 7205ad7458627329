/* The class Hearth\Task, and the functions that make one: async(), background(). */
#include "engine/engine.h"
#include "task/task.h"
#include "task/task_object.h"
#include "task/call.h"
#include "task/context.h"
#include "task/no_suspend.h"
#include "task/task_object_arginfo.h"

zend_class_entry *hearth_task_ce;
static zend_object_handlers task_handlers;

hearth_task_object *hearth_task_object_of(zend_object *object)
{
	return (hearth_task_object *) ((char *) object - XtOffsetOf(hearth_task_object, std));
}

static zend_object *create_task(zend_class_entry *ce)
{
	zend_object *object = hearth_object_new(ce, &task_handlers, sizeof(hearth_task_object));

	ZVAL_UNDEF(&hearth_task_object_of(object)->result);
	return object;
}

/* Called when the task can no longer be awaited. Not part of free_task, where no PHP code may run. */
static void task_goes(zend_object *object)
{
	hearth_task_object *self = hearth_task_object_of(object);

	if (UNEXPECTED(self->exception) && !self->seen && !hearth_broken) {
		self->seen = true;
		hearth_report_unseen(self->exception, self->owner);
	}
}

static void free_task(zend_object *object)
{
	hearth_task_object *self = hearth_task_object_of(object);

	zval_ptr_dtor(&self->result);
	if (self->exception) {
		OBJ_RELEASE(self->exception);
	}
	if (self->fatal) {
		zend_string_release(self->fatal);
	}
	if (self->owner) {
		hearth_on_owner_release(self->owner);
	}
	zend_object_std_dtor(object);
}

/*
 * A task that waits for another learns of its end when that one's function returns or throws. If the function did neither,
 * the parked tasks of the request check again.
 */
void hearth_task_object_end(hearth_task *task, zend_string *fatal)
{
	hearth_task_object *self = task->object ? hearth_task_object_of(task->object) : NULL;

	if (self) {
		self->task = NULL;
		self->fatal = fatal;
		self->done = true;
	} else if (fatal) {
		zend_string_release(fatal);
	}
	if (UNEXPECTED(task->left) || UNEXPECTED(fatal)) {
		hearth_task_unpark_family(task);
	}
	if (self) {
		task->object = NULL;
		OBJ_RELEASE(&self->std);
	}
}

/* Throws if no task runs. */
bool hearth_in_task(void)
{
	if (hearth_current) {
		return true;
	}
	zend_throw_error(NULL, "This needs a running task: the entry script is run once, before there is anything to wait on. "
		"Call it in the handler, or use hearth run");
	return false;
}

/* Throws if there is no stack for another task. */
static bool has_stack(void)
{
	if (EXPECTED(hearth_context_reserve())) {
		return true;
	}
	zend_throw_error(NULL, "There is no memory for the stack of another task: %zu tasks and Fibers have a stack in this process. Start fewer "
		"tasks at once (the second argument of Hearth\\parallel() limits their number), or raise vm.max_map_count", hearth_stack_count);
	return false;
}

static void start(zval *callable, zval *args, uint32_t argc, bool child, zval *return_value)
{
	hearth_task *parent = hearth_current, *task;
	hearth_request_state *request;
	hearth_task_object *object;

	if (!hearth_in_task() || !has_stack()) {
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
	if (!task->background) {
		hearth_error_handler_inherit(task);
	}
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
	zval *callable, *args = NULL;
	uint32_t argc = 0;

	ZEND_PARSE_PARAMETERS_START(1, -1)
		Z_PARAM_ZVAL(callable)
		Z_PARAM_VARIADIC('*', args, argc)
	ZEND_PARSE_PARAMETERS_END();
	if (hearth_is_callable(callable, 1)) {
		start(callable, args, argc, child, return_value);
	}
}

ZEND_FUNCTION(Hearth_async) { start_function(INTERNAL_FUNCTION_PARAM_PASSTHRU, true); }
ZEND_FUNCTION(Hearth_background) { start_function(INTERNAL_FUNCTION_PARAM_PASSTHRU, false); }

/* Throws for NAN, which no time is later than. */
bool hearth_is_no_number(double seconds, bool unlimited)
{
	if (EXPECTED(unlimited || !zend_isnan(seconds))) {
		return false;
	}
	zend_value_error("the time limit of a wait must be a number of seconds, or null for none; NAN given");
	return true;
}

ZEND_METHOD(Hearth_Task, __construct) { }

static int await_end(const hearth_task_object *self, double seconds)
{
	hearth_task *task = hearth_current;
	int outcome;

	task->awaits_task = self->task ? (uint32_t) hearth_task_id(self->task) : 0;
	outcome = hearth_on_await(self->owner, seconds);
	task->awaits_task = 0;
	return outcome;
}

ZEND_METHOD(Hearth_Task, await)
{
	hearth_task_object *self = hearth_task_object_of(Z_OBJ_P(ZEND_THIS));
	double seconds = -1;
	bool unlimited = true;

	ZEND_PARSE_PARAMETERS_START(0, 1)
		Z_PARAM_OPTIONAL
		Z_PARAM_DOUBLE_OR_NULL(seconds, unlimited)
	ZEND_PARSE_PARAMETERS_END();
	if (hearth_is_no_number(seconds, unlimited)) {
		return;
	}
	if (!self->done) {
		if (!hearth_in_task()) {
			return;
		}
		/* A negative number would mean no limit. */
		switch (await_end(self, unlimited ? -1 : MAX(0, seconds))) {
			case 1:
				hearth_throw(HEARTH_THROW_TIMEOUT, (hearth_str){ZEND_STRL("The task did not end in time")});
				return;
			case 2:
				hearth_bail_out_if_fatal();
				return;
		}
	}
	self->seen = true;
	if (self->fatal) {
		zend_throw_error(NULL, "the task was ended by a fatal error: %s",
			ZSTR_LEN(self->fatal) ? ZSTR_VAL(self->fatal) : "it could not go on");
		return;
	}
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

/* ---- registration ---- */

void hearth_register_task(void)
{
	hearth_task_ce = hearth_register_class("Hearth\\Task", class_Hearth_Task_methods, create_task, &task_handlers, XtOffsetOf(hearth_task_object, std));
	task_handlers.dtor_obj = task_goes;
	task_handlers.free_obj = free_task;
}
