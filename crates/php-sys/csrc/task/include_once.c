/*
 * Files whose code outside of functions waits. The engine counts a file as included before it runs this code, so `require_once` of another
 * request, or of another task, would go on without what the code defines after its wait. It waits until the code has ended.
 */
#include "engine/engine.h"
#include "task/fiber.h"
#include "task/include_once.h"
#include "task/no_suspend.h"

/* Longest wait in seconds. What the code itself waits for may be held by the request that waits for the file: a lock, for example. */
#define LONGEST_WAIT 10

uint32_t hearth_file_waiters;
static uint32_t files_waiting; /* the number of tasks that wait in such code */

static const zend_string *file_of_code(const zend_execute_data *call)
{
	return call->func && ZEND_USER_CODE(call->func->type) && !call->func->common.function_name ? call->func->op_array.filename : NULL;
}

void hearth_include_once_begins(hearth_task *task)
{
	const zend_execute_data *call = EG(current_execute_data);

	while (call && !file_of_code(call)) {
		call = hearth_call_below(call);
	}
	task->includes = task->waits_in_file = call != NULL;
	files_waiting += task->waits_in_file;
}

void hearth_include_once_ends(hearth_task *task)
{
	files_waiting -= task->waits_in_file;
	task->waits_in_file = false;
}

/* Whether one of these calls, from this one down, is the code of the file. */
static bool is_code_of(const zend_execute_data *call, const zend_string *path)
{
	for (; call; call = hearth_call_below(call)) {
		const zend_string *file = file_of_code(call);

		if (file && zend_string_equals(file, path)) {
			return true;
		}
	}
	return false;
}

bool hearth_waits_in_file(const hearth_task *task, const zend_string *path)
{
	return task->waits_in_file && is_code_of(task->waits_in, path);
}

/* Whether that task has started the child, maybe through others. */
static bool has_started(const hearth_task *task, const hearth_task *child)
{
	while (child && child != task) {
		child = hearth_task_by_id(child->starter);
	}
	return child == task;
}

/* Whether that task waits, maybe through others, for a file that `one` loads: two files may require each other. */
static bool waits_for_file_of(const hearth_task *task, const hearth_task *one)
{
	enum { MOST_FILES = 100 };
	const zend_execute_data *calls = one == hearth_current ? EG(current_execute_data) : one->waits_in;

	for (int i = 0; i < MOST_FILES && task && task->awaits_file; i++) {
		if (is_code_of(calls, task->awaits_file)) {
			return true;
		}
		task = hearth_task_in_file(task->awaits_file, task);
	}
	return false;
}

const hearth_task *hearth_task_that_loads(const zend_string *path, const hearth_task *task)
{
	const hearth_task *loading = hearth_task_in_file(path, task);
	bool waits_for_others = loading && (loading->awaits_task || loading->awaits_wake);

	return loading && !(waits_for_others && has_started(loading, task)) && !waits_for_file_of(loading, task) ? loading : NULL;
}

/* Whether the call is the code of a file that is included once. */
static bool is_once(const zend_execute_data *call)
{
	const zend_execute_data *by = call->prev_execute_data;

	return file_of_code(call) && by && by->func && ZEND_USER_CODE(by->func->type) && by->opline->opcode == ZEND_INCLUDE_OR_EVAL
		&& (by->opline->extended_value & (ZEND_INCLUDE_ONCE | ZEND_REQUIRE_ONCE));
}

/* Whether the handler of a request is called here, by a script in FrankenPHP's loop. */
static bool calls_handler(const zend_execute_data *call)
{
	return call->func && call->func->type == ZEND_INTERNAL_FUNCTION && call->func->common.function_name
		&& zend_string_equals_literal(call->func->common.function_name, "frankenphp_handle_request");
}

/*
 * The file stays included: if its code were left in the middle, what it defines after that would be missing for all later requests. A
 * classic script includes all files again.
 */
bool hearth_in_file_once(void)
{
	const zend_execute_data *call = hearth_current && hearth_current->includes && hearth_current->request ? EG(current_execute_data) : NULL;

	for (; call && !calls_handler(call); call = hearth_call_below(call)) {
		if (is_once(call)) {
			return true;
		}
	}
	return false;
}

typedef enum { ENDED, OVERDUE, CANCELLED } outcome;

static outcome wait_for(zend_string *path)
{
	hearth_task *task = hearth_current;
	int woken;

	task->awaits_file = path;
	hearth_file_waiters++;
	woken = hearth_on_park(LONGEST_WAIT);
	hearth_file_waiters--;
	task->awaits_file = NULL;
	hearth_bail_out_if_fatal();
	return woken == 0 ? ENDED : woken == 1 ? OVERDUE : CANCELLED;
}

/* Waits until no task that is in the code of the file need be waited for. False: an exception is pending. */
static bool await_file(zend_string *path)
{
	outcome woken = ENDED;

	while (woken == ENDED && hearth_task_that_loads(path, hearth_current) && hearth_may_suspend()) {
		woken = wait_for(path);
	}
	if (woken == OVERDUE) {
		hearth_log(HEARTH_LOG_WARNING, "%s is included, but its code has been waiting in another request for %d s: this request goes on without "
			"what it has not defined yet", ZSTR_VAL(path), LONGEST_WAIT);
	}
	return woken != CANCELLED;
}

static zval *operand(const zend_execute_data *frame, const zend_op *opline)
{
	zval *value = opline->op1_type == IS_CONST ? RT_CONSTANT(opline, opline->op1) : ZEND_CALL_VAR(frame, opline->op1.var);

	ZVAL_DEREF(value);
	return value;
}

/* False: an exception is pending. */
static bool await_operand(const zend_execute_data *frame)
{
	const zval *name = operand(frame, frame->opline);
	zend_string *path = Z_TYPE_P(name) == IS_STRING ? zend_resolve_path(Z_STR_P(name)) : NULL;
	bool done = !EG(exception);

	if (path) {
		done = done && (!zend_hash_exists(&EG(included_files), path) || await_file(path));
		zend_string_release(path);
	}
	return done;
}

/* As the engine's own handler leaves its operands in an exception. */
static int leave(const zend_execute_data *frame, const zend_op *opline)
{
	if (opline->op1_type & (IS_TMP_VAR | IS_VAR)) {
		zval_ptr_dtor_nogc(ZEND_CALL_VAR(frame, opline->op1.var));
	}
	if (opline->result_type & (IS_TMP_VAR | IS_VAR)) {
		ZVAL_UNDEF(ZEND_CALL_VAR(frame, opline->result.var));
	}
	return ZEND_USER_OPCODE_CONTINUE;
}

static int on_include(zend_execute_data *frame)
{
	const zend_op *opline = frame->opline;

	if (UNEXPECTED(files_waiting) && (opline->extended_value & (ZEND_INCLUDE_ONCE | ZEND_REQUIRE_ONCE)) && !await_operand(frame)) {
		return leave(frame, opline);
	}
	return ZEND_USER_OPCODE_DISPATCH;
}

void hearth_include_once_hook(void)
{
	zend_set_user_opcode_handler(ZEND_INCLUDE_OR_EVAL, on_include);
}
