/* One task: a C stack, a VM stack, and what it is doing. */
#ifndef HEARTH_TASK_H
#define HEARTH_TASK_H

#include "stack.h"
#include "task_state.h"

typedef enum {
	HEARTH_JOB_NONE = 0,
	HEARTH_JOB_REQUEST,     /* call the app's handler, respond */
	HEARTH_JOB_CALL,        /* async(), a timer: call `callable`, keep the result */
	HEARTH_JOB_SCRIPT,      /* `hearth run` */
	HEARTH_JOB_CLASSIC,     /* a request from startup to shutdown */
	HEARTH_JOB_ENTRY,       /* the entry script; a loop stays in it and handles the requests, see frankenphp.c */
} hearth_job;

typedef struct hearth_queue hearth_queue;

/* Where a task waits, if in a queue: see waiters.c. */
typedef struct {
	hearth_queue *queue;             /* NULL: in none */
	hearth_task *previous, *next;
	double since;                    /* its time runs from then */
	bool served;
	zval value;                      /* what it was served; before, what it has to give */
} hearth_place;

/* Something that a task uses while it waits: see use.c. */
typedef struct hearth_used {
	const void *what;
	hearth_task *task;
	bool shared;
	struct hearth_used *next;        /* in its bucket */
} hearth_used;

/* A call is made with as many objects and streams. */
#define HEARTH_MOST_USED 2

struct hearth_task {
	zend_fiber_context context;
	zend_fiber_context *resume_at;   /* where it waits: its own context, or that of a Fiber inside it */
	zend_fiber_context *resumer;     /* who goes on when it waits */
	hearth_task *outer;              /* the task that resumed it, if one did */
	hearth_task_state saved;
	hearth_request_state *request;   /* NULL in classic mode: the engine's own state is the request's */
	void *owner;                     /* the Rust side of it */
	hearth_job job;
	bool has_context, busy, done, broken;
	bool background;                 /* its request state is its own and ends with it */
	bool left;                       /* exit() ended its function */
	bool interrupted;                /* a wait on a descriptor was ended early: the answer may still come */
	bool parses_for_itself;          /* Hearth\Request::cookie(): see cookies.c */
	bool awaits_body;                /* until another task has read its request's body */
	bool doomed;                     /* a fatal error happened where it could not be left: see hearth_throw */
	uint32_t blocks;                 /* how often the engine forbade a switch where it was resumed */
	uint32_t index, generation;      /* its id: see hearth_task_id */
	zend_object *object;             /* the Hearth\Task that stands for it, or NULL */
	zval shown_error_handler;        /* it waits in its request's error handler, which only others see meanwhile */
	zval callable;
	zval *args;
	uint32_t argc;
	zval on_end;                     /* a callback for its end: most have one at most */
	HashTable *more_on_end;          /* those that came after it */
	hearth_place place;
	hearth_used used[HEARTH_MOST_USED]; /* by the call that it waits in */
	uint32_t used_count;
	hearth_used *used_in_arrays;     /* and what stands in the arrays of that call */
	uint32_t used_in_arrays_count;
	struct hearth_loan *loans;       /* what it has of connection pools: see ledger.c */
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
extern zend_fcall_info hearth_handler;
extern zend_fcall_info_cache hearth_handler_cache;
extern zend_class_entry *hearth_task_ce, *hearth_request_ce, *hearth_response_ce;
/* A fatal error has happened in this process: what ends from here on is not worth a report. */
extern bool hearth_broken;
/* The app is being booted. */
extern bool hearth_booting;
extern hearth_task *hearth_entry_task, *hearth_loop;
extern const char *hearth_entry_path;
extern bool hearth_loop_ended;
/* max_execution_time, in seconds, as it is now. */
extern zend_long hearth_time_limit;

/* What Symfony Runtime starts unless APP_RUNTIME says otherwise; in php/src/Symfony/Runtime.php. */
#define HEARTH_SYMFONY_RUNTIME "Hearth\\Symfony\\Runtime"

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
void hearth_request_run(hearth_task *task);
void hearth_call_run(hearth_task *task);
void hearth_script_run(hearth_task *task);
/* Is there something to do at its end? */
static inline bool hearth_task_has_end(const hearth_task *task)
{
	return Z_TYPE(task->on_end) != IS_UNDEF || task->loans != NULL;
}
void hearth_task_run_on_end(hearth_task *task);
/* How what was called ended; an exception is taken and described for hearth_boot_error. */
hearth_outcome hearth_outcome_of_exception(void);
void hearth_library_prepare(void);
void hearth_library_begin(void);
void hearth_begin_observers(const char *script);
zend_class_entry *hearth_library_autoload(zend_string *lower);
zend_class_entry *hearth_library_class(const char *name);
void hearth_library_call(zend_function **method, const char *class, const char *name, uint32_t argc, zval *args, zval *result);
void hearth_entry_run(void (*script)(void));
void hearth_entry_left(void);
void hearth_ground_seal(void);
void hearth_ground_restores(bool one_at_a_time);
void hearth_ground_restore(void);
/* A function is about to change what the process has. */
void hearth_ground_note(void);
hearth_task *hearth_loop_request(hearth_request_state *state, void *owner);
void hearth_loop_end_request(hearth_task *task);
void hearth_loop_script_ended(hearth_task *task);
void hearth_request_answer(hearth_request_state *state);
/* The same after a fatal error. */
void hearth_request_answer_broken(hearth_request_state *state);
bool hearth_request_finish(hearth_request_state *state);
void hearth_register_errors(void);
void hearth_register_frankenphp(void);
void hearth_entry_server_variables(zval *server, bool boot);
void hearth_server_environment_keep(void);
bool hearth_server_is_environment(const char *name, size_t length, zval *value);
void hearth_set_server_variable(zval *server, const char *name, const char *value);
void hearth_entry_server(void);
void hearth_entry_server_forget(HashTable *server);
void hearth_request_end(hearth_task *task);
void hearth_task_end_broken(hearth_task *task);
void hearth_run_shutdown_functions(void);
/* What `defer()` was given. */
void hearth_run_deferred(hearth_request_state *state);
void hearth_report_exception(void);
void hearth_report_unseen(zend_object *exception, void *owner);
/* An exception that is under way while other PHP code runs. The exception may be NULL. */
typedef struct { zend_object *exception; const zend_op *before; zend_execute_data *frame; const zend_op *opline; } hearth_pending;
void hearth_exception_put_aside(hearth_pending *pending);
void hearth_exception_take_back(const hearth_pending *pending);
/* What keeps the app from being up, for hearth_boot_error. */
void hearth_boot_failed(const char *text, size_t length);
zend_string *hearth_describe_exception(zend_object *exception);
void hearth_log_message(const char *message, int syslog_type);
void hearth_watch_errors(void);
/* error_handler.c */
void hearth_error_handler_watch(void);
void hearth_error_handler_begin(hearth_request_state *state);
void hearth_error_handler_end(hearth_request_state *state);
void hearth_error_handler_inherit(hearth_task *task);
void hearth_error_handler_shown(hearth_task *task);
void hearth_error_handler_hidden(hearth_task *task);
/* A task is left: it may be inside the error handler. */
static inline void hearth_error_handler_show(hearth_task *task)
{
	if (Z_TYPE(EG(user_error_handler)) == IS_UNDEF && task->request && UNEXPECTED(Z_TYPE(task->request->known_error_handler) != IS_UNDEF)) {
		hearth_error_handler_shown(task);
	}
}
/* It goes on. */
static inline void hearth_error_handler_hide(hearth_task *task)
{
	if (UNEXPECTED(Z_TYPE(task->shown_error_handler) != IS_UNDEF)) {
		hearth_error_handler_hidden(task);
	}
}

/* The text of the fatal error that has just ended the task that runs; empty if it left none. */
zend_string *hearth_fatal_error(void);
void hearth_watch_interrupts(void);
void hearth_guard_engine(void);
void hearth_guard_sqlite(void);
void hearth_guard_fibers(void);
void hearth_guard_generators(void);
/* A section of C code in whose middle a task must not be left: see guard.c. */
typedef struct hearth_section hearth_section;
/* `frame` is the caller's own. */
hearth_section *hearth_section_enter(const void *frame);
void hearth_section_leave(const hearth_section *section);
void hearth_sections_forget(const zend_fiber_context *context);
void hearth_sections_forget_all(void);
bool hearth_in_section(void);
/* What resumed the stack of `context`; NULL for the process's own. */
const zend_fiber_context *hearth_context_below(const zend_fiber_context *context);
uint32_t hearth_count_blocks(void);
/* A fatal error left the task that runs, from wherever it was. */
void hearth_guard_forget(const hearth_task *task);
bool hearth_is_cli(void);
void hearth_bail_out_of_memory(void);
/* There may be a task that is. */
extern bool hearth_has_doomed;
void hearth_bail_out_if_doomed(void);
bool hearth_is_callable(zval *callable, uint32_t argument);
void hearth_task_park(hearth_task *task);
void hearth_commit_head(hearth_request_state *state);
size_t hearth_echo(const char *text, size_t length);
/* What the engine does with its own buffers when memory is exhausted. */
void hearth_discard_echoed(void);
size_t hearth_cli_echo(const char *text, size_t length);
int hearth_cli_deactivate(void);
int hearth_cli_header(sapi_header_struct *header, sapi_header_op_enum op, sapi_headers_struct *headers);
void hearth_flush(void *context);
void hearth_let_send(void);
zend_object *hearth_request_object_new(void *request);
void hearth_request_object_end(zend_object *object);
/* Throws if it does not, in this task: only then there is a body. */
bool hearth_request_is_running(void *request);
zend_class_entry *hearth_register_class(const char *name, const zend_function_entry *methods, zend_object *(*create)(zend_class_entry *),
	zend_object_handlers *handlers, size_t offset);
zend_object *hearth_object_new(zend_class_entry *ce, const zend_object_handlers *handlers, size_t size);
void hearth_parse_cookies(hearth_str line, zval *result);
void hearth_register_request(void);
void hearth_register_task(void);
void hearth_register_waiters(void);
void hearth_register_histogram(void);
void hearth_register_ledger(void);
extern zend_class_entry *hearth_waiters_ce, *hearth_histogram_ce;
hearth_task *hearth_waiters_serve(zend_object *waiters, zval *value, zval *offer);
void hearth_histogram_record(zend_object *histogram, double seconds);
/* The library is loaded. */
void hearth_pool_entry_prepare(void);
void hearth_ledger_return_all(hearth_task *task);
/* Whether the object is a PDO with a transaction open. */
bool hearth_in_transaction(zval *object);
/* The socket of such a connection, -1 if it is closed; false if there is none, or it is not known where. */
bool hearth_socket_of(zval *object, php_socket_t *fd);
/* The mysqlnd connection of a mysqli object, NULL if it is none or has none: see use.c. */
MYSQLND_CONN_DATA *hearth_mysqli_connection(zend_object *object);
/* The same for what stands for a PDO connection: see use.c. */
bool hearth_socket_of_pgsql(const void *pdo, php_socket_t *fd);
void hearth_throw_pdo(const char *state, const char *message);
/* What the call is made on, NULL if nothing that another could use: see use.c. */
const void *hearth_used_by(zend_execute_data *call);
/* Does only a call on an object of this class wait for what it is connected to? */
bool hearth_waits_in_its_calls(const zend_class_entry *ce);
zend_long hearth_process_id(void);
void hearth_call(zval *callable, zval *result, uint32_t argc, zval *args);
/* Seconds, of a clock that is never set. */
double hearth_monotonic(void);
bool hearth_in_task(void);
/* form.c: one task of a request reads its body at a time. */
bool hearth_body_lock(hearth_request_state *state);
void hearth_body_unlock(hearth_request_state *state);
void hearth_body_mend(void);
/* What hearth_on_body_read() returned last, not above 0: throw where that is not the end of the body. */
void hearth_body_read_ended(void *request, ptrdiff_t n);
/* Throws if a part of the body was read that is all there will be. */
bool hearth_body_is_broken(hearth_request_state *state);
/* A classic script: not all of its body could be read. */
extern bool hearth_classic_body_failed;
void hearth_watch_install(void);
void hearth_connections_end(void);
/* The task that runs is about to be left: what its call uses is in use until hearth_use_ends. */
void hearth_use_begins(hearth_task *task);
void hearth_use_ends(hearth_task *task);
/* session.c: is a session open, and what became of the one that session_start() has just opened. */
bool hearth_session_is_open(void);
void hearth_session_begun(void);
/* errors.c: does this exception, or exit(), end what the task does from outside? */
bool hearth_is_cut_off(const zend_object *exception);
/* It broke: what it used is free. */
void hearth_use_forget(hearth_task *task);
/* The stack of `context` is no more. */
void hearth_use_forget_stack(const zend_fiber_context *context);
size_t hearth_read_post(char *buffer, size_t length);
bool hearth_form_is_due(void);
bool hearth_form_is_readable(hearth_request_state *state, bool wanted);
bool hearth_form_prepare(hearth_request_state *state);
void hearth_form_parsed(hearth_request_state *state);
void hearth_classic_prepare(zend_module_entry *module);
bool hearth_classic_begin(void);
const hearth_script *hearth_classic_script(void);
/* The engine forgets its status line when it has sent the head; ours leaves later. */
void hearth_classic_keep_status_line(const char *line);
int hearth_user_ini_activate(void);
void hearth_cycle_begin(void);
void hearth_log(hearth_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

extern const zend_function_entry hearth_functions[], hearth_cli_functions[];
extern sapi_module_struct hearth_sapi;

#endif
