/*
 * Where a task is inside an extension without a call that shows it: in an iteration, or in a stream wrapper that an extension
 * has. What is used there is in use while the task waits, like that of a call: see task/in_use.c.
 */
#include "engine/watch.h"
#include "pool/entry.h"
#include "task/task.h"

/* Returns the method that an iteration is refused in the name of. */
static const zend_function *method_of_iteration(const zend_object *object)
{
	static zend_internal_function other = {.type = ZEND_INTERNAL_FUNCTION};
	const zend_class_entry *ce = hearth_internal_class(object);
	const zend_function *method = zend_hash_str_find_ptr(&ce->function_table, ZEND_STRL("getiterator"));

	if (method || (method = zend_hash_str_find_ptr(&ce->function_table, ZEND_STRL("next")))) {
		return method;
	}
	if (!other.function_name) {
		other.function_name = zend_string_init("foreach", sizeof "foreach" - 1, 1);
	}
	other.scope = (zend_class_entry *) ce;
	return (const zend_function *) &other;
}

static bool refuses(const zend_function *function, const void *what)
{
	uint64_t other;

	if (!what) {
		return false;
	}
	if (hearth_pool_calls && hearth_pool_calls_refuse(EG(current_execute_data), function, what)) {
		return true;
	}
	other = hearth_use_user_of(what);
	if (UNEXPECTED(other)) {
		hearth_use_refuse(function, other);
	}
	return other != 0;
}

bool hearth_inside_refuses_iteration(zend_object *object)
{
	return UNEXPECTED(hearth_pool_calls || hearth_use_any()) && refuses(method_of_iteration(object), hearth_connection_of_object(object));
}

bool hearth_inside_refuses(const void *what)
{
	return refuses(EG(current_execute_data)->func, what);
}

void hearth_inside_enter(hearth_inside *inside)
{
	if (UNEXPECTED(!hearth_current)) {
		return;
	}
	if (EXPECTED(inside->depth++ == 0)) {
		inside->call = EG(current_execute_data);
		inside->task = hearth_task_id(hearth_current);
		inside->previous = NULL;
		inside->next = hearth_current->inside;
		if (inside->next) {
			inside->next->previous = inside;
		}
		hearth_current->inside = inside;
	}
}

void hearth_inside_leave(hearth_inside *inside)
{
	hearth_task *task;

	/* Zero: no task has entered. */
	if (inside->depth == 0 || --inside->depth > 0) {
		return;
	}
	task = hearth_task_by_id(inside->task);
	if (UNEXPECTED(!task)) {
		return;
	}
	if (inside->next) {
		inside->next->previous = inside->previous;
	}
	if (inside->previous) {
		inside->previous->next = inside->next;
	} else {
		task->inside = inside->next;
	}
}

void hearth_inside_drop(hearth_inside *inside)
{
	if (UNEXPECTED(inside->depth)) {
		inside->depth = 1;
		hearth_inside_leave(inside);
	}
}

const hearth_inside *hearth_inside_of(const zend_execute_data *call, const hearth_inside *after)
{
	const hearth_inside *inside = after ? after->next : hearth_current->inside;

	while (inside && inside->call != call) {
		inside = inside->next;
	}
	return inside;
}
