/*
 * The stack trace of the engine's thread, read by another thread while PHP runs: for code that takes no interrupt, because
 * it is in one long call of an extension. Memory is read through the kernel, as php-fpm reads that of a slow child: an
 * address that is no longer mapped is an error there and no crash, and a concurrent change is a wrong word at worst.
 */
#include "engine/engine.h"
#include "task/task.h"

#include <sys/uio.h>

enum { MOST_CALLS = 32, MOST_FRAMES = 128, LONGEST_NAME = 200 };

typedef struct {
	char name[2 * LONGEST_NAME];     /* `Class::function` */
	char place[LONGEST_NAME + 32];   /* `file(line)`; empty for the engine's own functions */
} call;

static bool peek(void *to, const void *from, size_t length)
{
	struct iovec local = { to, length }, remote = { (void *) from, length };

	return from && process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t) length;
}

static bool peek_string(char *to, size_t room, const zend_string *from)
{
	size_t length;

	to[0] = '\0';
	if (!from || !peek(&length, &from->len, sizeof length)) {
		return false;
	}
	length = MIN(length, room - 1);
	if (!peek(to, from->val, length)) {
		to[0] = '\0';
		return false;
	}
	to[length] = '\0';
	return true;
}

static void read_name(call *seen, const zend_function *function)
{
	char class[LONGEST_NAME] = "", name[LONGEST_NAME];
	const zend_class_entry *scope = function->common.scope;
	zend_string *text = NULL;

	if (!peek_string(name, sizeof name, function->common.function_name)) {
		snprintf(seen->name, sizeof seen->name, "include()");
		return;
	}
	if (scope && peek(&text, &scope->name, sizeof text)) {
		peek_string(class, sizeof class, text);
	}
	snprintf(seen->name, sizeof seen->name, "%s%s%s()", class, class[0] ? "::" : "", name);
}

static void read_place(call *seen, const zend_execute_data *frame)
{
	zend_op_array code;
	uint32_t line = 0;
	char file[LONGEST_NAME];

	if (!peek(&code, frame->func, sizeof code) || !peek_string(file, sizeof file, code.filename)) {
		return;
	}
	peek(&line, &frame->opline->lineno, sizeof line);
	snprintf(seen->place, sizeof seen->place, "%s(%u)", file, line);
}

/* Reads the calls, innermost first; returns their number. */
static size_t read_calls(call *calls)
{
	const zend_execute_data *next = NULL;
	size_t count = 0;

	peek(&next, &EG(current_execute_data), sizeof next);
	for (int frames = 0; next && count < MOST_CALLS && frames < MOST_FRAMES; frames++) {
		zend_execute_data frame;
		zend_function function;

		if (!peek(&frame, next, sizeof frame)) {
			break;
		}
		next = frame.prev_execute_data;
		if (!frame.func || !peek(&function.common, frame.func, sizeof function.common)) {
			continue;
		}
		calls[count] = (call) {0};
		read_name(&calls[count], &function);
		if (ZEND_USER_CODE(function.common.type)) {
			read_place(&calls[count], &frame);
		}
		count++;
	}
	return count;
}

/* Writes in the format of hearth_task_trace(). Any thread may call it. */
size_t hearth_outside_trace(char *at, size_t room)
{
	call calls[MOST_CALLS];
	size_t count = read_calls(calls), length = 0, first = 0;

	while (first < count && !calls[first].place[0]) {
		first++;
	}
	if (first == count) {
		return 0;
	}
	length = (size_t) snprintf(at, room, "%s", calls[first].place);
	for (size_t i = 0; i + 1 < count && length < room; i++) {
		const char *place = calls[i + 1].place;

		length += (size_t) snprintf(at + length, room - length, "\n#%zu %s: %s", i, place[0] ? place : "[internal function]", calls[i].name);
	}
	return MIN(length, room - 1);
}
