/* Connections on which a task's wait was ended early: see task/interrupted.c. */
#ifndef HEARTH_INTERRUPTED_H
#define HEARTH_INTERRUPTED_H

#include "task/task.h"

/* How many there are; none is the rule. */
extern uint32_t hearth_interruptions;

/* May an answer still come on this connection, that the task with that id did not wait for? */
bool hearth_is_interrupted(zval *connection, uint64_t task);
/* Is the call refused? Then an exception is under way. */
bool hearth_interrupted_refuses(zend_execute_data *call);

void hearth_watch_interrupts(void);
/* Code of the library has returned to what called it: that is asked what the library was not. */
void hearth_interrupt_library_left(void);

#endif
