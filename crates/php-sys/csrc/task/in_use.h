/* What a task uses while it waits: see task/in_use.c. */
#ifndef HEARTH_IN_USE_H
#define HEARTH_IN_USE_H

#include "compat.h"
#include "hearth.h"

/* Something that a task uses while it waits: see task/in_use.c. */
typedef struct hearth_used {
	const void *what;
	zend_object *object;             /* that the call is made on, if it is one */
	uint64_t task;
	bool shared;
	struct hearth_used *next;        /* in its bucket */
} hearth_used;

typedef struct {
	hearth_used *used;
	uint32_t count, room;
} hearth_use_list;

/* A call is made with as many objects and streams. */
#define HEARTH_MOST_USED 3
/* Room for as many stays with a task. */
#define HEARTH_KEPT_USES 16

/* The mysqlnd connection of a mysqli object, NULL if it is none or has none: see task/in_use.c. */
MYSQLND_CONN_DATA *hearth_mysqli_connection(zend_object *object);
/* libpq's connection of a PgSql\Connection, else NULL. */
const void *hearth_pgsql_connection(zend_object *object);
/* What the call is made on, NULL if nothing that another could use: see task/in_use.c. */
const void *hearth_used_by(zend_execute_data *call);
/* Does only a call on an object of this class wait for what it is connected to? */
bool hearth_waits_in_its_calls(const zend_class_entry *ce);
void hearth_connections_end(void);
/* The task that runs is about to be left: what its calls use is in use until hearth_use_ends. */
void hearth_use_begins(hearth_task *task);
void hearth_use_ends(hearth_task *task);
/* It broke: what it used is free. */
void hearth_use_forget(hearth_task *task);
/* The stack of `context` is no more. */
void hearth_use_forget_stack(const zend_fiber_context *context);

#endif
