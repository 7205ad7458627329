/* Tasks that call a function, and the callbacks at the end of a task. */
#ifndef HEARTH_CALL_H
#define HEARTH_CALL_H

#include "task/task.h"

void hearth_call_run(hearth_task *task);
void hearth_task_run_on_end(hearth_task *task);
/* Only what onTaskEnd() has registered. */
void hearth_task_run_callbacks(hearth_task *task);
bool hearth_is_callable(zval *callable, uint32_t argument);
void hearth_call(zval *callable, zval *result, uint32_t argc, zval *args);
/* Whether the task has callbacks for its end, leases to return, or values to release. */
static inline bool hearth_task_has_end(const hearth_task *task)
{
	return Z_TYPE(task->on_end) != IS_UNDEF || task->leases != NULL || task->kept_values != NULL;
}

#endif
