/*
 * Where a task is inside an extension without a call that shows it: in an iteration, or in a stream wrapper that an extension
 * has. What is used there is in use while the task waits, like that of a call: see task/in_use.c.
 */
#include "engine/watch.h"
#include "task/task.h"

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
