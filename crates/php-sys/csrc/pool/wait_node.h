/* A place in a queue of waiting tasks: see pool/wait_queue.c. */
#ifndef HEARTH_WAIT_NODE_H
#define HEARTH_WAIT_NODE_H

#include "compat.h"
#include "hearth.h"

typedef struct hearth_queue hearth_queue;

/* Where a task waits, if in a queue. */
typedef struct {
	hearth_queue *queue;             /* NULL: in none */
	hearth_task *previous, *next;
	double since;                    /* its time runs from then */
	bool served;
	zval value;                      /* what it was served; before, what it has to give */
} hearth_wait_node;

#endif
