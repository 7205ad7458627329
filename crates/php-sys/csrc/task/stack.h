/* The C stacks of tasks and Fibers: how deep they may get, and what happens beyond. */
#ifndef HEARTH_STACK_H
#define HEARTH_STACK_H

#include "compat.h"

/* Bytes of stack that a task may use. The main stack of `php` and of a php-fpm child has as much. */
#define HEARTH_TASK_STACK (8 * 1024 * 1024)

typedef struct hearth_stack hearth_stack;

/* The number of stacks that exist, of tasks and Fibers. */
extern size_t hearth_stack_count;

/* Called once, when the engine starts: from then on each stack that the engine makes is guarded. */
void hearth_stack_startup(void);
/* Called once all extensions are loaded, on the thread that runs PHP. */
void hearth_stack_hook(void);
/* Returns the bytes to request from the engine so that `size` bytes can be used. */
size_t hearth_stack_size_for(size_t size);
/* Returns NULL if the stack has no guard. */
hearth_stack *hearth_stack_of(const zend_fiber_context *context);
/* Returns the lowest address that may be used. */
void *hearth_stack_limit(const zend_fiber_context *context);
/* Gives the memory that a deep recursion touched back to the kernel; nothing runs on the stack. */
void hearth_stack_trim(const zend_fiber_context *context);
/* Called at an interrupt: raises an Error if the running stack is used up. */
void hearth_stack_check(void);
bool hearth_stack_is_for_signals(void);
/* Closes the guard again after a fatal error has left the deep calls. */
void hearth_stack_rearm(const zend_fiber_context *context);

#endif
