/*
 * Where a task is inside an extension without a call that shows it: in an iteration, or in a stream wrapper that an extension
 * has. What is used there is in use while the task waits, like that of a call: see task/in_use.c.
 */
#ifndef HEARTH_INSIDE_H
#define HEARTH_INSIDE_H

#include "pool/entry.h"
#include "task/task.h"

struct hearth_inside {
	zend_object *object;             /* what is used */
	const void *what;                /* if that is no object */
	const zend_execute_data *call;   /* the code that entered first */
	hearth_task *task;               /* the task of that code */
	uint32_t generation;             /* of that task */
	uint32_t depth;                  /* how many times it is entered */
	hearth_inside *next, *previous;  /* of the same task */
};

/* Whether the function would disturb another task if it goes on to use the connection; if so, an exception is pending. */
bool hearth_inside_refuses(const zend_function *function, const void *what);

/* Whether anything may be refused at all. */
static inline bool hearth_inside_may_refuse(void)
{
	return hearth_current && (hearth_uses || hearth_pool_calls);
}

/* The steps of a loop enter and leave, so both are inline. */
static inline void hearth_inside_enter(hearth_inside *inside)
{
	hearth_task *task = hearth_current;

	if (UNEXPECTED(!task) || UNEXPECTED(inside->depth++ > 0)) {
		return;
	}
	inside->call = EG(current_execute_data);
	inside->task = task;
	inside->generation = task->generation;
	inside->previous = NULL;
	inside->next = task->inside;
	if (inside->next) {
		inside->next->previous = inside;
	}
	task->inside = inside;
}

static inline void hearth_inside_leave(hearth_inside *inside)
{
	/* Zero: no task has entered. */
	if (UNEXPECTED(inside->depth == 0) || UNEXPECTED(--inside->depth > 0)) {
		return;
	}
	/* A task that a bailout has ended has no list any more. */
	if (UNEXPECTED(inside->task->generation != inside->generation || inside->task->job == HEARTH_JOB_NONE)) {
		return;
	}
	if (inside->next) {
		inside->next->previous = inside->previous;
	}
	if (inside->previous) {
		inside->previous->next = inside->next;
	} else {
		inside->task->inside = inside->next;
	}
}

/* Called before it is freed; a bailout may have left it entered. */
static inline void hearth_inside_drop(hearth_inside *inside)
{
	if (UNEXPECTED(inside->depth)) {
		inside->depth = 1;
		hearth_inside_leave(inside);
	}
}

#endif
