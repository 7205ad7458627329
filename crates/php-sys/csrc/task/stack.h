/* The C stacks of tasks and Fibers: how deep they may get, and what happens beyond. */
#ifndef HEARTH_STACK_H
#define HEARTH_STACK_H

#include "compat.h"

/* What a task may use. The main stack of `php` and of a php-fpm child has as much. */
#define HEARTH_TASK_STACK (8 * 1024 * 1024)

typedef struct hearth_stack hearth_stack;

/* Once, when the engine starts: from then on each stack that it makes is guarded. */
void hearth_stack_startup(void);
/* Once all extensions are loaded, on the thread that runs PHP. */
void hearth_stack_watch(void);
/* How much to ask the engine for, so that `size` bytes can be used. */
size_t hearth_stack_size_for(size_t size);
/* NULL if it has no guard. */
hearth_stack *hearth_stack_of(const zend_fiber_context *context);
/* The lowest address that may be used. */
void *hearth_stack_limit(const zend_fiber_context *context);
/* Nothing runs on it: give back what a deep recursion touched. */
void hearth_stack_trim(const zend_fiber_context *context);
/* At an interrupt: raise an Error if the running stack is used up. */
void hearth_stack_check(void);
bool hearth_stack_is_for_signals(void);
/* A fatal error has left all that was deep on it. */
void hearth_stack_rearm(const zend_fiber_context *context);

#endif
