/* Values that only a waiting task's calls own: see task/kept_values.c. */
#ifndef HEARTH_KEPT_VALUES_H
#define HEARTH_KEPT_VALUES_H

#include "task/task.h"

/* Whether the method runs without an owner of its object. */
bool hearth_is_unowned(const zend_execute_data *call);
/* Gives the objects of such methods an owner, from the running call down to `bottom`. */
void hearth_unowned_hold(hearth_marks *marks, const zend_execute_data *bottom);
/* Releases the value, whose last owner is the caller, at the end of the task. */
void hearth_keep_value(hearth_task *task, zend_refcounted *what);
void hearth_kept_values_release(hearth_task *task);

#endif
