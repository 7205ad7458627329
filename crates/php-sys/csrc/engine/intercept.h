/* Internal functions whose calls pass through a function of ours first: see engine/intercept.c. */
#ifndef HEARTH_INTERCEPT_H
#define HEARTH_INTERCEPT_H

#include "engine/engine.h"

typedef struct hearth_intercept hearth_intercept;

/* A call that hands out a shared connection, and what is done instead: a row of the table in task/persistent.c. */
typedef struct {
	const char *class_name, *function;         /* lower case; the class is NULL for a function */
	bool (*shares)(zend_execute_data *call);   /* whether it hands out what other requests may have too; NULL: always */
	const char *what;                          /* the subject of the error message */
	/* Called first: true if it made or refused the call. NULL: the call is refused while requests share a process. */
	bool (*instead)(zend_execute_data *call, zval *return_value, const hearth_intercept *intercept);
} hearth_sharing;

/* What two tasks must not do at the same time with the arguments of a call. */
enum {
	HEARTH_IN_USE = 1,        /* its object and streams are in use while the call waits, or runs PHP code */
	HEARTH_IN_USE_SHARED = 2, /* other tasks may use them meanwhile, but not close them */
	HEARTH_CLOSES = 4,
	HEARTH_IN_USE_ARRAYS = 8, /* the elements of its array arguments are in use while the call waits */
	HEARTH_HARMLESS = 16,     /* it changes nothing that other tasks rely on: they may do the same, but not close it */
	HEARTH_LAST_DIRECTORY = 32, /* without an argument it uses the directory that was opened last */
	HEARTH_OF_RESULT = 64,    /* it queries the server about a result, which is a value of its own otherwise */
	HEARTH_IN_USE_OBJECTS = 128, /* it changes objects among its further arguments */
};

/* State of the process that a library changes unasked. */
enum { HEARTH_KEEPS_LOCALE = 1, HEARTH_KEEPS_SIGNALS = 2, HEARTH_KEEPS_MASK = 4 };

/* What is done around a call that is not refused. */
typedef struct {
	/* Returns whether the function is called; if not, an exception is pending, or its result is set. NULL: it is. */
	bool (*before)(zend_execute_data *call, zval *return_value);
	void (*after)(zend_execute_data *call, zval *return_value); /* NULL: nothing. An exception may be pending */
} hearth_around;

struct hearth_intercept {
	zif_handler original;
	const hearth_sharing *sharing;
	uint8_t use;
	const hearth_around *around; /* NULL for nearly all */
	bool suspends_fiber;      /* the function is Fiber::suspend() */
	bool no_suspend;          /* the task is not left in the function: see task/no_suspend_functions.c */
	uint8_t keeps;            /* HEARTH_KEEPS_*: what a library behind the function changes: see engine/process_facts.c */
	uint8_t begins;           /* HEARTH_ENDS_* where the function begins more of an end: see request/end_limits.c */
	bool bails_out, connects_soap; /* see engine/soap.c */
	bool of_process;          /* the function changes state of the process: see engine/process_facts.c */
	bool of_session;          /* the function opens or closes the session: see session/calls.c */
	bool has_references;      /* the function writes to references: see task/references.c */
	bool only_uses;           /* there is nothing but `use` above; set by hearth_intercept_install() */
};

/* Returns the intercept of this function and of all others with the same handler, and makes one if there is none. */
hearth_intercept *hearth_intercept_of(zend_function *function);
/* Returns the intercept of an intercepted function, else NULL. */
const hearth_intercept *hearth_intercept_known(const zend_function *function);
void hearth_intercept_install(void);
/* The same for classic mode, where no other request runs meanwhile: only what changes state of the process. */
void hearth_intercept_install_classic(void);

void hearth_intercept_sharing(void);
void hearth_intercept_use(void);
void hearth_intercept_no_suspend(void);
void hearth_intercept_references(void);
void hearth_intercept_process(void);
void hearth_intercept_soap(void);
void hearth_intercept_begins(void);
void hearth_intercept_session(void);
void hearth_session_call(zend_execute_data *call, zval *return_value, zif_handler original);
typedef void (*hearth_make_call)(INTERNAL_FUNCTION_PARAMETERS, const hearth_intercept *intercept);
/* Whether only the call, and a variable of its caller, have the reference. */
bool hearth_reference_is_of_caller(const zend_execute_data *call, const zend_reference *reference);
/* Makes the call with references of its own in place of those that other code has too. */
void hearth_call_with_references(INTERNAL_FUNCTION_PARAMETERS, const hearth_intercept *intercept, hearth_make_call make);
/* Returns whether the call was refused or made. */
bool hearth_sharing_refuses(zend_execute_data *call, zval *return_value, const hearth_intercept *intercept);
/* Finds the classes and resources that task/in_use.c tells apart. */
void hearth_use_learn(void);
void hearth_use(zend_execute_data *call, zval *return_value, const hearth_intercept *intercept);
/* Throws: the function is called on what that other task uses. */
void hearth_use_refuse(const zend_function *function, uint64_t other);
/* The same for what is no call of a function: takes its name, and frees it. */
void hearth_use_refuse_what(zend_string *name, uint64_t other);
/* task/in_use_close.c */
bool hearth_closes_what_is_waited_on(zend_execute_data *call);
/* Whether another task uses `what`. */
bool hearth_in_use_elsewhere(const void *what);
void hearth_use_suspends_fiber(zend_execute_data *call, zval *return_value, const hearth_intercept *intercept);

/* Returns the class of an extension that the object is an instance of, directly or by a subclass. */
const zend_class_entry *hearth_internal_class(const zend_object *object);
/* task/connection.c: one address for all objects and streams of a connection; NULL for a value without a connection. */
const void *hearth_connection_of_object(zend_object *object);
const void *hearth_connection_of_value(zval *value);
const void *hearth_connection_of_stream(zval *value);
void hearth_connections_find(void);

/* Returns the argument with that number, from 1; NULL if it is not given. */
zval *hearth_argument(zend_execute_data *call, uint32_t number);

#endif
