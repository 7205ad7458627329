/* The stack trace of a task: its calls, in PHP's format for exceptions, without their arguments. */
#include "engine/engine.h"
#include "task/task.h"

#define HEARTH_MOST_CALLS 64

/* The text, cut where the room ends. */
typedef struct {
	char *at;
	size_t room, length;
} text;

PHP_ATTRIBUTE_FORMAT(printf, 2, 3)
static void add(text *out, const char *format, ...)
{
	size_t left = out->room - out->length;
	va_list args;
	int length;

	va_start(args, format);
	length = vsnprintf(out->at + out->length, left, format, args);
	va_end(args);
	if (length > 0) {
		out->length += (size_t) length < left ? (size_t) length : left - 1;
	}
}

static bool is_code(const zend_execute_data *frame)
{
	return ZEND_USER_CODE(frame->func->type);
}

/* Returns the next frame that is a call: generators and the engine have frames of their own in between. */
static const zend_execute_data *call_at(const zend_execute_data *frame)
{
	while (frame && !frame->func) {
		frame = frame->prev_execute_data;
	}
	return frame;
}

static void add_place(text *out, const zend_execute_data *frame)
{
	const zend_op_array *code = &frame->func->op_array;
	const zend_op *opline = frame->opline;
	/* The opcode of an exception that is being unwound has no line. */
	bool is_line = opline && opline->opcode != ZEND_HANDLE_EXCEPTION;

	add(out, "%s", code->filename ? ZSTR_VAL(code->filename) : "?");
	add(out, is_line || code->line_start == 0 ? "(%u)" : "(%u…)", is_line ? opline->lineno : code->line_start);
}

/* The name of an anonymous class has its place behind a NUL, which ends the output. */
static void add_name(text *out, const zend_execute_data *frame)
{
	const zend_function *function = frame->func;

	if (!function->common.function_name) {
		add(out, "include()");
		return;
	}
	if (function->common.scope) {
		bool has_object = (ZEND_CALL_INFO(frame) & ZEND_CALL_HAS_THIS) != 0;

		add(out, "%s%s", ZSTR_VAL(function->common.scope->name), has_object ? "->" : "::");
	}
	add(out, "%s()", ZSTR_VAL(function->common.function_name));
}

/* Whether the frame is the outermost code, or the one that Hearth puts below a task's first call. */
static bool is_bottom(const zend_execute_data *frame, const zend_execute_data *caller)
{
	const zend_string *name = frame->func->common.function_name;

	return !caller && (!name || ZSTR_LEN(name) == 0);
}

static void add_calls(text *out, const zend_execute_data *frame)
{
	uint32_t number = 0;

	while ((frame = call_at(frame)) && number < HEARTH_MOST_CALLS) {
		const zend_execute_data *caller = call_at(frame->prev_execute_data);

		if (is_bottom(frame, caller)) {
			break;
		}
		add(out, "\n#%u ", number++);
		if (caller && is_code(caller)) {
			add_place(out, caller);
		} else {
			add(out, "[internal function]");
		}
		add(out, ": ");
		add_name(out, frame);
		frame = caller;
	}
	add(out, "\n#%u %s", number, frame && number == HEARTH_MOST_CALLS ? "…" : "{main}");
}

/*
 * Writes where `task` waits, or, for NULL, where the running code is; returns the number of bytes written. It changes
 * nothing of the engine, allocates no memory and calls no PHP code.
 */
size_t hearth_task_trace(const hearth_task *task, char *at, size_t room)
{
	const zend_execute_data *top = task ? task->waits_in : EG(current_execute_data);
	const zend_execute_data *code = call_at(top);
	text out = {at, room, 0};

	if (!code || room == 0 || (task && (task->done || task->broken))) {
		return 0;
	}
	while (code && !is_code(code)) {
		code = call_at(code->prev_execute_data);
	}
	if (code) {
		add_place(&out, code);
	} else {
		add(&out, "[no PHP code]");
	}
	add_calls(&out, top);
	return out.length;
}
