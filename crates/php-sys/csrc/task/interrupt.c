/*
 * Interrupts: what the watchdog, a signal or a stack that is too deep asks of the code that runs, which answers with an exception.
 *
 * The VM calls an interrupt before an opcode, and the exception counts as this opcode's. The engine then frees what an opcode that
 * has begun leaves: the argument that it sends, the part of a string that it adds. One that has not begun leaves neither, so memory
 * is freed that is no value. Nor does the engine free the result of the call before, which the opcode was to take. So the exception
 * is made that call's; under `php` a handler of pcntl_async_signals() that throws meets the same.
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
 * An interrupt before `next` has thrown. That is after a call, or where branches of an expression meet, the last of which is the opcode
 * before. The VM takes the result of the opcode that has thrown for undefined.
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
 * Code of the PHP library; what it was given to call is the app's. From PHP 8.4 on an internal function is interrupted in its own frame,
 * before its result reaches the code that called it.
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

/* The library's code ran at an interrupt. */
static bool put_off;

/*
 * The library hands connections and places in queues from one list to another: an exception between two of its lines would lose
 * what is on the way. The app's code is asked where it goes on, or by the watchdog in a moment; to ask at once would be for ever,
 * because the VM looks again as soon as an interrupt has returned.
 */
static void ask(const zend_execute_data *frame)
{
	hearth_stack_check();
	if (hearth_current && !hearth_current->busy) {
		hearth_bail_out_if_doomed();
		if (hearth_current->request && is_library(frame)) {
			put_off = true;
			return;
		}
		hearth_on_interrupt();
		hearth_bail_out_if_doomed();
	}
}

/* Does a child of the task that runs pass on what the task itself is to be told? */
static bool is_told(void)
{
	zval *message, space;

	if (!EG(exception) || !hearth_is_cut_off(EG(exception)) || zend_is_unwind_exit(EG(exception))) {
		return false;
	}
	message = zend_read_property_ex(zend_ce_error, EG(exception), ZSTR_KNOWN(ZEND_STR_MESSAGE), true, &space);
	return Z_TYPE_P(message) == IS_STRING && hearth_on_told((hearth_str){Z_STRVAL_P(message), Z_STRLEN_P(message)});
}

/* Code of the library has returned to what called it. */
void hearth_interrupt_library_left(void)
{
	if (UNEXPECTED(put_off)) {
		put_off = false;
		if (!is_told()) {
			hearth_interrupt();
		}
	}
}

static void on_interrupt(zend_execute_data *frame)
{
	const zend_op *next = frame->opline;

	if (interrupt) {
		interrupt(frame);
	}
	ask(frame);
	if (UNEXPECTED(EG(exception)) && frame->func && ZEND_USER_CODE(frame->func->type)) {
		throw_one_earlier(frame, next);
	}
}

void hearth_watch_interrupts(void)
{
	interrupt = zend_interrupt_function;
	zend_interrupt_function = on_interrupt;
}
