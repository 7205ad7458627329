/* The state of a task: its C stack, its VM stack, its job. */
#ifndef HEARTH_TASK_H
#define HEARTH_TASK_H

#include "pool/wait_node.h"
#include "state/task_state.h"
#include "task/in_use.h"
#include "task/job.h"
#include "task/marks.h"
#include "task/stack.h"
#include "task/ticks.h"

struct hearth_task {
	zend_fiber_context context;
	zend_fiber_context *resume_at;   /* the context in which it waits: its own, or that of a Fiber inside it */
	zend_fiber_context *resumer;     /* the context that goes on when it waits */
	const zend_execute_data *waits_in; /* the call in which it waits */
	hearth_task *outer;              /* the task that resumed it, if one did */
	hearth_task_state saved;
	hearth_request_state *request;   /* NULL in classic mode: the engine's own state is the request's */
	void *owner;                     /* its owner in Rust */
	hearth_job job;
	bool has_context, busy, done, broken;
	bool background;                 /* its request state is its own and ends with it */
	bool left;                       /* exit() ended its function */
	bool interrupted;                /* a wait on a descriptor was ended early: the answer may still arrive */
	bool parses_for_itself;          /* Hearth\Request::cookie(): see request/cookies.c */
	bool awaits_wake;                /* it waits until another task wakes it: see hearth_task_wait_for_wake */
	bool awaits_body;                /* it waits until another task has read its request's body */
	bool includes;                   /* it has included a file and may be in its code: see task/include_once.c */
	bool waits_in_file;              /* it waits in such code */
	const zend_string *awaits_file;  /* it waits until another task has left the code of this file; NULL: for none */
	uint32_t awaits_value;           /* the task whose computation of a cached value it waits for; 0: for none */
	uint32_t awaits_task;            /* the task whose end it waits for by Hearth\Task::await(); 0: for none */
	uint64_t claims_before;          /* claims that this process had made when it began: see cache/computing.c */
	zend_ulong awaits_key;           /* hash of the value's key: see cache/computing.c */
	const zend_object *awaits_object; /* it waits until another task has initialized the lazy object; NULL: for none */
	uint8_t ends;                    /* HEARTH_ENDS_*, of the end that its code runs at */
	bool fatal_pending;              /* a fatal error happened where it could not be left: see hearth_throw */
	hearth_blocks blocks;            /* how often the engine forbade a switch where it was resumed */
	uint32_t index, generation;      /* its id: see hearth_task_id */
	zend_object *object;             /* the Hearth\Task that stands for it, or NULL */
	zval shown_error_handler;        /* set while it waits in the error handler, which only other tasks see meanwhile */
	zval callable;
	zval *args;
	uint32_t argc;
	zval on_end;                     /* a callback for its end: most tasks have one at most */
	HashTable *more_on_end;          /* the callbacks registered after on_end */
	hearth_wait_node place;
	hearth_use_list uses;            /* connections and streams used by the calls that it waits in */
	hearth_inside *inside;           /* where it is inside an extension without a call: see task/inside.c */
	hearth_marks marks;              /* marks of those calls, while it waits */
	HashTable *kept_values;          /* what only its calls own: see task/kept_values.c; NULL: nothing */
	struct hearth_lease *leases;       /* its leases of connection pools: see pool/lease_table.c */
	uint64_t starter;                /* the task that started it; 0 = none */
	uint64_t effective_task;               /* the task that it runs a function for, and which waits meanwhile; 0 = none */
	const char *script, *code;
	char mode;
	hearth_task *next_free;
};

extern __thread hearth_task *hearth_current;
/* Whether a fatal error has happened in this process: tasks that end from here on are not worth a report. */
extern bool hearth_broken;
hearth_request_state *hearth_current_request(void);
uint64_t hearth_task_id(const hearth_task *task);
hearth_task *hearth_task_by_id(uint64_t id);
/* Returns the tasks of this process one after the other, also ended ones; NULL: there are no more. */
hearth_task *hearth_task_at(uint32_t index);
bool hearth_task_others_wait(const hearth_task *but);
/* Returns another task that waits in a call on the object; 0 if there is none. */
uint64_t hearth_task_inside(const zend_object *object);
void hearth_task_unpark_family(const hearth_task *but);
hearth_task *hearth_task_new(hearth_job job, hearth_request_state *request);
/* Keeps an ended task for hearth_task_new(). */
void hearth_task_keep(hearth_task *task);
bool hearth_task_has_kept_context(void);
void hearth_task_park(hearth_task *task);
/* Waits until PHP code of another task wakes the running one, for what a pool, a channel or a group of tasks has. As hearth_on_park(). */
int hearth_task_wait_for_wake(double seconds);
/* Whether its code has called Fiber::suspend(). The engine's status says so too of a Fiber in which a task waits. */
bool hearth_fiber_is_suspended(const zend_fiber *fiber);
bool hearth_in_task(void);
bool hearth_is_no_number(double seconds, bool unlimited);

#endif
