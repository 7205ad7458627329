/* Sections of C code in whose middle a task must not be left: see task/no_suspend.c. */
#ifndef HEARTH_NO_SUSPEND_H
#define HEARTH_NO_SUSPEND_H

#include "task/task.h"

void hearth_no_suspend_in_engine(void);
void hearth_no_suspend_in_sqlite(void);
/* task/opcodes.c: whether one of the calls that the running code is in was made where a task must not be left. */
bool hearth_calls_forbid_switch(void);
/* task/walking.c: whether `call` was made by C code that walks a value which other requests may have. `below`: the frame below it. */
bool hearth_is_called_by_walker(const zend_execute_data *call, zend_execute_data *below);
/* Whether the class is one of SplHeap or SplPriorityQueue, whose iterator removes elements and compares others meanwhile. NULL is none. */
bool hearth_is_heap(const zend_class_entry *ce);
/* Whether `call` is a function that prints a value piece by piece, in the middle of an object. */
bool hearth_prints_object(zend_execute_data *call);
void hearth_walking_learn(void);
/* task/class_linking.c */
void hearth_class_linking_hook(void);
void hearth_no_suspend_in_fibers(void);
void hearth_fibers_name_bottom(void);
void hearth_no_suspend_in_generators(void);
/* A section of C code in whose middle a task must not be left: see task/no_suspend.c. */
typedef struct hearth_section hearth_section;
/* `frame` is the caller's own. */
hearth_section *hearth_section_enter(const void *frame);
void hearth_section_leave(const hearth_section *section);
void hearth_sections_forget(const zend_fiber_context *context);
void hearth_sections_forget_all(void);
bool hearth_in_section(void);
/* Returns the context that resumed `context`; NULL for the process's own stack. */
const zend_fiber_context *hearth_context_below(const zend_fiber_context *context);
/* Called when a fatal error has left the running task, wherever it was. */
void hearth_no_suspend_forget(const hearth_task *task);
/* Whether a fatal error may have met a task where it could not be left: see hearth_throw. */
extern bool hearth_has_fatal_pending;
void hearth_bail_out_if_fatal(void);

#endif
