/* Internal functions that are called through a function of ours first: see engine/watch.c. */
#ifndef HEARTH_WATCH_H
#define HEARTH_WATCH_H

#include "engine/engine.h"

typedef struct hearth_watch hearth_watch;

/* What a call that hands out a shared connection is refused for, or is given instead: a row of the table in task/persistent.c. */
typedef struct {
	const char *class_name, *function;         /* lower case; the class is NULL for a function */
	bool (*shares)(zend_execute_data *call);   /* does this call hand out what others may have? NULL: always */
	const char *what;                          /* for the message */
	/* Called in its place, if it says so; NULL: the call is refused while requests share a process. */
	bool (*instead)(zend_execute_data *call, zval *return_value, const hearth_watch *watch);
} hearth_sharing;

/* What two tasks must not do at once with what they are called with. */
enum {
	HEARTH_IN_USE = 1,        /* what it is called with has a user while it waits, or PHP code that it calls */
	HEARTH_IN_USE_SHARED = 2, /* others may use it meanwhile, only not close it */
	HEARTH_CLOSES = 4,
	HEARTH_IN_USE_ARRAYS = 8, /* what is in the arrays that it is called with has a user while it waits */
	HEARTH_ASKS = 16,         /* it changes nothing that others rely on: they may all be at it, only not close it */
};

/* What a library changes for the process without being asked. */
enum { HEARTH_KEEPS_LOCALE = 1, HEARTH_KEEPS_SIGNALS = 2, HEARTH_KEEPS_MASK = 4 };

struct hearth_watch {
	zif_handler original;
	const hearth_sharing *sharing;
	uint8_t use;
	bool suspends_fiber;      /* it is Fiber::suspend() */
	bool no_suspend;          /* the task is not left in it: see task/no_suspend_functions.c */
	uint8_t keeps;            /* of the process, what a library behind it changes: see engine/process_facts.c */
	bool bails_out;           /* see engine/soap.c */
	bool of_process;          /* it changes what the process has: see engine/process_facts.c */
};

/* The watch of this function and of all others with the same handler; made if there is none. */
hearth_watch *hearth_watch_of(zend_function *function);
/* The watch of a function that is watched, else NULL. */
const hearth_watch *hearth_watch_known(const zend_function *function);
void hearth_watch_install(void);

void hearth_watch_sharing(void);
void hearth_watch_use(void);
void hearth_watch_no_suspend(void);
void hearth_watch_process(void);
void hearth_watch_soap(void);
/* Is the call refused or done? */
bool hearth_sharing_refuses(zend_execute_data *call, zval *return_value, const hearth_watch *watch);
/* The classes and resources that task/in_use.c tells apart. */
void hearth_use_learn(void);
void hearth_use(zend_execute_data *call, zval *return_value, const hearth_watch *watch);
/* Does another task use it? */
bool hearth_in_use_elsewhere(const void *what);
void hearth_use_suspends_fiber(zend_execute_data *call, zval *return_value, const hearth_watch *watch);

/* task/connection.c: the same address for all that belongs to one connection; NULL for what is none. */
/* The class of an extension that it is an object of, or of a subclass. */
const zend_class_entry *hearth_internal_class(const zend_object *object);
const void *hearth_connection_of_object(zend_object *object);
const void *hearth_connection_of_value(zval *value);
const void *hearth_connection_of_stream(zval *value);
void hearth_connections_find(void);

/* The argument with that number, from 1; NULL if it is not given. */
zval *hearth_argument(zend_execute_data *call, uint32_t number);

#endif
