/* The contexts of tasks: how they are made, kept and ended. */
#ifndef HEARTH_CONTEXT_H
#define HEARTH_CONTEXT_H

#include "compat.h"

typedef struct hearth_task hearth_task;

/* Called once, when the engine starts. */
void hearth_contexts_startup(void);
/* Makes the context of a task that has none. False: there is no memory. */
bool hearth_context_make(hearth_task *task);
/* Ensures that the next task has a context. False: there is no memory, or too many stacks exist already. */
bool hearth_context_reserve(void);
/* Ends the context of an ended task if `kept` tasks have kept theirs and those are enough. Returns whether the task has one. */
bool hearth_context_keep(hearth_task *task, uint32_t kept);
/* The code at the bottom of each task's stack. */
void hearth_task_entry(zend_fiber_transfer *transfer);

#endif
