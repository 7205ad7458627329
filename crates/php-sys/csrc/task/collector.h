/* The collector of cycles: see task/collector.c. */
#ifndef HEARTH_COLLECTOR_H
#define HEARTH_COLLECTOR_H

#include "php.h"

void hearth_collector_hook(void);
/* Runs the collector; the task that runs is one of HEARTH_JOB_COLLECT. */
void hearth_collector_run(void);

/*
 * Whether an exception is leaving the frame. The collector finds the values of such a frame by EG(opline_before_exception), which is
 * that of the running task: for a frame of another task it would read wrong memory. So these values count as in use.
 */
static inline bool hearth_collector_must_skip(const zend_execute_data *frame)
{
	return frame && frame->func && ZEND_USER_CODE(frame->func->type) && frame->opline
		&& frame->opline->opcode == ZEND_HANDLE_EXCEPTION;
}

#endif
