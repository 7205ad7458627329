/* One task: a C stack, a VM stack, and what it is doing. */
#ifndef HEARTH_TASK_H
#define HEARTH_TASK_H

#include "state/task_state.h"
#include "task/stack.h"
#include "task/ticks.h"

typedef enum {
	HEARTH_JOB_NONE = 0,
	HEARTH_JOB_REQUEST,     /* call the app's handler, respond */
	HEARTH_JOB_CALL,        /* async(), a timer: call `callable`, keep the result */
	HEARTH_JOB_SCRIPT,      /* `hearth run` */
	HEARTH_JOB_CLASSIC,     /* a request from startup to shutdown */
	HEARTH_JOB_ENTRY,       /* the entry script; a loop stays in it and handles the requests, see mode/frankenphp.c */
} hearth_job;

typedef struct hearth_queue hearth_queue;

/* Where a task waits, if in a queue: see pool/wait_queue.c. */
typedef struct {
	hearth_queue *queue;             /* NULL: in none */
	hearth_task *previous, *next;
	double since;                    /* its time runs from then */
	bool served;
	zval value;                      /* what it was served; before, what it has to give */
} hearth_wait_node;

/* Something that a task uses while it waits: see task/in_use.c. */
typedef struct hearth_used {
	const void *what;
	uint64_t task;
	bool shared;
	struct hearth_used *next;        /* in its bucket */
} hearth_used;

typedef struct {
	hearth_used *used;
	uint32_t count, room;
} hearth_use_list;

/* A call is made with as many objects and streams. */
#define HEARTH_MOST_USED 2
/* Room for as many stays with a task. */
#define HEARTH_KEPT_USES 16

struct hearth_task {
	zend_fiber_context context;
	zend_fiber_context *resume_at;   /* where it waits: its own context, or that of a Fiber inside it */
	zend_fiber_context *resumer;     /* who goes on when it waits */
	const zend_execute_data *waits_in; /* the call in which it waits */
	hearth_task *outer;              /* the task that resumed it, if one did */
	hearth_task_state saved;
	hearth_request_state *request;   /* NULL in classic mode: the engine's own state is the request's */
	void *owner;                     /* the Rust side of it */
	hearth_job job;
	bool has_context, busy, done, broken;
	bool background;                 /* its request state is its own and ends with it */
	bool left;                       /* exit() ended its function */
	bool interrupted;                /* a wait on a descriptor was ended early: the answer may still come */
	bool parses_for_itself;          /* Hearth\Request::cookie(): see request/cookies.c */
	bool awaits_body;                /* until another task has read its request's body */
	bool doomed;                     /* a fatal error happened where it could not be left: see hearth_throw */
	hearth_blocks blocks;            /* how often the engine forbade a switch where it was resumed */
	uint32_t index, generation;      /* its id: see hearth_task_id */
	zend_object *object;             /* the Hearth\Task that stands for it, or NULL */
	zval shown_error_handler;        /* it waits in its request's error handler, which only others see meanwhile */
	zval callable;
	zval *args;
	uint32_t argc;
	zval on_end;                     /* a callback for its end: most have one at most */
	HashTable *more_on_end;          /* those that came after it */
	hearth_wait_node place;
	hearth_use_list uses;            /* by the calls that it waits in */
	struct hearth_lease *leases;       /* what it has of connection pools: see pool/lease_table.c */
	uint64_t starter;                /* the task that started it; 0 = none */
	uint64_t acts_for;               /* the task that it runs a function for, which waits meanwhile; 0 = none */
	const char *script, *code;
	char mode;
	hearth_task *next_free;
};

/* The PHP object Hearth\Task. */
typedef struct {
	hearth_task *task;               /* NULL once it has ended */
	void *owner;
	zval result;
	zend_object *exception;
	zend_string *fatal;              /* the fatal error that ended it */
	bool done, seen;
	zend_object std;
} hearth_task_object;

/* The PHP object Hearth\Request. */
typedef struct {
	void *request;
	zval query, cookies, attributes;
	zend_object std;
} hearth_request_object;

extern __thread hearth_task *hearth_current;
extern zend_class_entry *hearth_task_ce, *hearth_request_ce, *hearth_response_ce;
/* A fatal error has happened in this process: what ends from here on is not worth a report. */
extern bool hearth_broken;
extern hearth_task *hearth_entry_task, *hearth_loop;
extern const char *hearth_entry_path;
hearth_request_state *hearth_current_request(void);
uint64_t hearth_task_id(const hearth_task *task);
hearth_task *hearth_task_by_id(uint64_t id);
bool hearth_task_others_wait(const hearth_task *but);
void hearth_task_unpark_family(const hearth_task *but);
void hearth_task_unpark_readers(const hearth_request_state *request);
hearth_task *hearth_task_new(hearth_job job, hearth_request_state *request);
hearth_task_object *hearth_task_object_of(zend_object *object);
/* The task has ended; `fatal` is what ended it, or NULL. */
void hearth_task_object_end(hearth_task *task, zend_string *fatal);
void hearth_call_run(hearth_task *task);
/* Is there something to do at its end? */
static inline bool hearth_task_has_end(const hearth_task *task)
{
	return Z_TYPE(task->on_end) != IS_UNDEF || task->leases != NULL;
}
void hearth_task_run_on_end(hearth_task *task);
void hearth_entry_run(void (*script)(void));
void hearth_entry_left(void);
void hearth_watch_interrupts(void);
void hearth_no_suspend_in_engine(void);
void hearth_no_suspend_in_sqlite(void);
void hearth_no_suspend_in_fibers(void);
void hearth_fibers_name_bottom(void);
void hearth_no_suspend_in_generators(void);
/* A section of C code in whose middle a task must not be left: see task/no_suspend.c. */
typedef struct hearth_section hearth_section;
/* `frame` is the caller's own. */
hearth_section *hearth_section_enter(const void *frame);
void hearth_section_leave(const hearth_section *section);
void hearth_sections_forget(const zend_fiber_context *context);
void hearth_sections_forget_all(void);
bool hearth_in_section(void);
/* What resumed the stack of `context`; NULL for the process's own. */
const zend_fiber_context *hearth_context_below(const zend_fiber_context *context);
/* A fatal error left the task that runs, from wherever it was. */
void hearth_no_suspend_forget(const hearth_task *task);
void hearth_bail_out_of_memory(void);
/* There may be a task that is. */
extern bool hearth_has_doomed;
void hearth_bail_out_if_doomed(void);
bool hearth_is_callable(zval *callable, uint32_t argument);
void hearth_task_park(hearth_task *task);
void hearth_register_task(void);
/* The mysqlnd connection of a mysqli object, NULL if it is none or has none: see task/in_use.c. */
MYSQLND_CONN_DATA *hearth_mysqli_connection(zend_object *object);
/* libpq's connection of a PgSql\Connection, else NULL. */
const void *hearth_pgsql_connection(zend_object *object);
/* What the call is made on, NULL if nothing that another could use: see task/in_use.c. */
const void *hearth_used_by(zend_execute_data *call);
/* Does only a call on an object of this class wait for what it is connected to? */
bool hearth_waits_in_its_calls(const zend_class_entry *ce);
void hearth_call(zval *callable, zval *result, uint32_t argc, zval *args);
bool hearth_in_task(void);
void hearth_connections_end(void);
/* The task that runs is about to be left: what its calls use is in use until hearth_use_ends. */
void hearth_use_begins(hearth_task *task);
void hearth_use_ends(hearth_task *task);
/* It broke: what it used is free. */
void hearth_use_forget(hearth_task *task);
/* The stack of `context` is no more. */
void hearth_use_forget_stack(const zend_fiber_context *context);

#endif
