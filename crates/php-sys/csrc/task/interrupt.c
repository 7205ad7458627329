/*
 * Interrupts: the watchdog, a signal or a stack that is too deep asks the running code to stop, which
 * it does with an exception.
 *
 * The VM handles an interrupt before an opcode, and an exception then counts as this opcode's. The engine frees what an
 * opcode that has begun leaves: the argument that it sends, the part of a string that it adds. An opcode that has not begun
 * leaves neither, so the engine would free memory that is no value. Nor does it free the result of the call before, which
 * the opcode was to take. So the exception is attributed to that call; under `php`, a handler of pcntl_async_signals() that
 * throws runs into the same.
 */
#include "engine/engine.h"
#include "task/task.h"
#include "task/no_suspend.h"
#include "task/interrupted.h"

static void (*interrupt)(zend_execute_data *);

static bool is_call(const zend_op *opline)
{
	switch (opline->opcode) {
		case ZEND_DO_FCALL:
		case ZEND_DO_ICALL:
		case ZEND_DO_UCALL:
		case ZEND_DO_FCALL_BY_NAME:
			return true;
		default:
			return false;
	}
}

static bool takes(const zend_op *opline, const zend_op *result_of)
{
	return (opline->op1_type & (IS_TMP_VAR | IS_VAR)) && (result_of->result_type & (IS_TMP_VAR | IS_VAR))
		&& opline->op1.var == result_of->result.var;
}

/*
 * Attributes an exception thrown by an interrupt before `next` to the opcode before: a call, or the last opcode of a branch
 * where the branches of an expression meet. The VM takes the result of the opcode that has thrown for undefined.
 */
static void throw_one_earlier(zend_execute_data *frame, const zend_op *next)
{
	const zend_op *last = next - 1;
	bool has_called;

	if (next == frame->func->op_array.opcodes || EG(opline_before_exception) != next) {
		return;
	}
	has_called = is_call(last);
	if (!has_called && !(frame->call && takes(next, last))) {
		return;
	}
	EG(opline_before_exception) = last;
	if (last->result_type & (IS_TMP_VAR | IS_VAR)) {
		zval *result = ZEND_CALL_VAR(frame, last->result.var);

		zval_ptr_dtor_nogc(result);
		ZVAL_UNDEF(result);
	}
}

/*
 * Whether the frame runs code of the PHP library; functions that the library was given to call are the app's. From PHP 8.4
 * on, an internal function is interrupted in its own frame, before its result reaches its caller.
 */
static bool is_library(const zend_execute_data *frame)
{
	const zend_op_array *code;

	while (frame && (!frame->func || !ZEND_USER_CODE(frame->func->type))) {
		frame = frame->prev_execute_data;
	}
	code = frame ? &frame->func->op_array : NULL;
	return code && code->scope && code->filename && *ZSTR_VAL(code->filename) != '/'
		&& zend_string_starts_with_literal(code->scope->name, "Hearth\\");
}

/* Whether an interrupt was put off because the library's code ran. */
static bool put_off;

/*
 * The library moves connections and places in queues from one list to another: an exception between two of its lines would
 * lose the one being moved. So the interrupt is put off until the app's code goes on, or the watchdog interrupts again.
 * Another interrupt at once would never end, because the VM checks again as soon as an interrupt has returned.
 */
static void handle(const zend_execute_data *frame)
{
	hearth_stack_check();
	if (hearth_current && !hearth_current->busy) {
		hearth_bail_out_if_fatal();
		if (hearth_current->request && is_library(frame)) {
			put_off = true;
			return;
		}
		hearth_on_interrupt(frame != NULL);
		hearth_bail_out_if_fatal();
	}
}

/* Whether the pending exception, passed on by a child of the running task, is the one that the task itself was to get. */
static bool is_delivered(void)
{
	zval *message, space;

	if (!EG(exception) || !hearth_is_cut_off(EG(exception)) || zend_is_unwind_exit(EG(exception))) {
		return false;
	}
	message = zend_read_property_ex(zend_ce_error, EG(exception), ZSTR_KNOWN(ZEND_STR_MESSAGE), true, &space);
	return Z_TYPE_P(message) == IS_STRING && hearth_on_cancel_delivered((hearth_str){Z_STRVAL_P(message), Z_STRLEN_P(message)});
}

/* Called when code of the library has returned to its caller. */
void hearth_interrupt_library_left(void)
{
	if (UNEXPECTED(put_off)) {
		put_off = false;
		if (!is_delivered()) {
			hearth_interrupt();
		}
	}
}

/*
 * There is no frame where C code has called a function at the bottom of the stack, such as the handler, and the function
 * has just returned.
 */
static void on_interrupt(zend_execute_data *frame)
{
	const zend_op *next = frame ? frame->opline : NULL;

	if (interrupt) {
		interrupt(frame);
	}
	handle(frame);
	if (UNEXPECTED(EG(exception)) && frame && frame->func && ZEND_USER_CODE(frame->func->type)) {
		throw_one_earlier(frame, next);
	}
}

void hearth_interrupts_hook(void)
{
	interrupt = zend_interrupt_function;
	zend_interrupt_function = on_interrupt;
}
