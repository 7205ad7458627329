/* Files whose code waits while it is being included: see task/include_once.c. */
#ifndef HEARTH_INCLUDE_ONCE_H
#define HEARTH_INCLUDE_ONCE_H

#include "task/task.h"

/* The number of tasks that wait for a file. */
extern uint32_t hearth_file_waiters;

void hearth_include_once_hook(void);
/* Called before and after a task waits that has included a file. */
void hearth_include_once_begins(hearth_task *task);
void hearth_include_once_ends(hearth_task *task);
/* Whether the task waits in the code of this file, outside of its functions. */
bool hearth_waits_in_file(const hearth_task *task, const zend_string *path);
/* task/table.c: returns a task other than `but` that does; NULL if there is none. */
hearth_task *hearth_task_in_file(const zend_string *path, const hearth_task *but);
/* Returns the task whose code of this file that task should wait for; NULL: there is none, or it waits for that task itself. */
const hearth_task *hearth_task_that_loads(const zend_string *path, const hearth_task *task);
/* Wakes the tasks that need not wait for a file any more. */
void hearth_task_unpark_file_waiters(void);

#endif
