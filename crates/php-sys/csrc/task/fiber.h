/* Fibers of PHP code: see task/fiber.c. */
#ifndef HEARTH_FIBER_H
#define HEARTH_FIBER_H

#include "compat.h"

/* The function of the lowest frame of each Fiber, once one was destroyed. */
extern const zend_function *hearth_fiber_function;

/*
 * Returns the call that this one of the running task was made in; NULL if there is none. The engine does not link a Fiber that goes on because
 * it is destroyed: a field of its lowest frame that has no other use names the call in whose middle that is.
 */
static inline zend_execute_data *hearth_call_below(const zend_execute_data *call)
{
	if (EXPECTED(call->prev_execute_data) || EXPECTED(!hearth_fiber_function) || call->func != hearth_fiber_function) {
		return call->prev_execute_data;
	}
	return (zend_execute_data *) call->symbol_table;
}

/*
 * Whether the engine has made the call, and not an opcode that only calls. An extension that replaces zend_execute_ex(), such as a profiler,
 * makes the engine mark both alike.
 */
static inline bool hearth_is_called_by_engine(const zend_execute_data *call, const zend_execute_data *below)
{
	if (EXPECTED(!(ZEND_CALL_INFO(call) & ZEND_CALL_TOP))) {
		return false;
	}
	if (EXPECTED(zend_execute_ex == execute_ex) || !below || !below->func || !ZEND_USER_CODE(below->func->type)) {
		return true;
	}
	switch (below->opline->opcode) {
		case ZEND_DO_FCALL:
		case ZEND_DO_UCALL:
		case ZEND_DO_FCALL_BY_NAME:
			return false;
		case ZEND_INCLUDE_OR_EVAL:
			return !(ZEND_CALL_INFO(call) & ZEND_CALL_CODE);
		default:
			return true;
	}
}

#endif
