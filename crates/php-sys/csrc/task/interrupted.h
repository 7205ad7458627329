/* Connections on which a task's wait was ended early: see task/interrupted.c. */
#ifndef HEARTH_INTERRUPTED_H
#define HEARTH_INTERRUPTED_H

#include "task/task.h"

/* The number of connections with an early end of a wait; 0 nearly always. */
extern uint32_t hearth_interruptions;

/* Whether an answer that the task with that id no longer waited for may still arrive on this connection. */
bool hearth_is_interrupted(zval *connection, uint64_t task);
/* Whether the call is refused; if so, an exception is pending. */
bool hearth_interrupted_refuses(zend_execute_data *call);

void hearth_interrupts_hook(void);
/* Called when code of the library has returned to its caller: handles an interrupt that was put off meanwhile. */
void hearth_interrupt_library_left(void);

#endif
