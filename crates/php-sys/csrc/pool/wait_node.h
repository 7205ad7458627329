/* A place in a queue of waiting tasks: see pool/wait_queue.c. */
#ifndef HEARTH_WAIT_NODE_H
#define HEARTH_WAIT_NODE_H

#include "compat.h"
#include "hearth.h"

typedef struct hearth_queue hearth_queue;

/* The place of a task in a queue. */
typedef struct {
	hearth_queue *queue;             /* NULL: in no queue */
	hearth_task *previous, *next;
	double since;                    /* start of its timeout, in seconds of CLOCK_MONOTONIC */
	bool served;
	zval value;                      /* the value that it was served; before, the value that it offers */
} hearth_wait_node;

#endif
