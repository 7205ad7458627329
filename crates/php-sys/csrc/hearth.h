/*
 * The only contract between C and Rust. No Zend type crosses it: only our own structs, ids, and pointer + length pairs.
 *
 * Names give the direction: hearth_* is C called by Rust, hearth_on_* is Rust called by C.
 * Every hearth_* function that may run PHP code holds its own zend_try, so no longjmp ever leaves it; hearth_throw, which
 * Rust calls with its frames on the stack, puts a fatal error off until they have returned.
 * What a pointer leads to, and the bytes of a text, are valid during the call, unless said otherwise.
 * hearth_on_* functions are called on a task's stack, and a few that only log, count or let go also where no task runs.
 * While one runs that does more than that, libc hooks let calls pass (see hearth_hooks_may_wait).
 */
#ifndef HEARTH_H
#define HEARTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct { const char *ptr; size_t len; } hearth_str;
typedef struct { hearth_str name, value; } hearth_header;

typedef struct hearth_task hearth_task;

/* ---- engine ---- */

typedef enum {
	HEARTH_RESIDENT = 0,       /* the app stays; each request is a task in it */
	HEARTH_CLASSIC = 1,        /* each request is a life of the engine */
	HEARTH_CLI = 2,            /* `hearth run`: stand in for the php command */
} hearth_mode;

typedef struct {
	const char *ini_entries;   /* "key=value\n" lines, highest priority; kept for the life of the process */
	const char *ini_path;      /* -c, or NULL */
	bool no_ini;               /* -n */
	hearth_mode mode;
	int argc;
	char **argv;
} hearth_boot_args;

/* A file of the library, and the names of its classes in lower case. */
typedef struct {
	hearth_str name, source;
	const hearth_str *classes;
	size_t class_count;
} hearth_source;

typedef enum { HEARTH_OK = 0, HEARTH_EXIT = 1, HEARTH_BAILOUT = 2, HEARTH_EXCEPTION = 3, HEARTH_REFUSED = 4 } hearth_outcome;

/* Of the engine, such as 8.2.36. */
hearth_str hearth_php_version(void);
bool hearth_boot(const hearth_boot_args *args);
void hearth_prelude_register(const hearth_source *files, size_t count);
hearth_outcome hearth_run_entry(const char *path);
hearth_str hearth_boot_error(void);
hearth_str hearth_last_thrown(void);
void hearth_seal(void);
void hearth_after_fork(void);
/* SIGTERM, SIGINT, SIGHUP and SIGUSR1 are the supervisor's: this process leaves when it is told so. */
void hearth_pass_over_signals(void);
uint64_t hearth_post_max_size(void);
/* opcache looks whether a script has changed since it was compiled. */
bool hearth_validates_timestamps(void);
/* What the app is: a word of Hearth\Internal\Adapter::entryKind(), or "frankenphp". */
hearth_str hearth_handler_kind(void);
bool hearth_has_extension(hearth_str name);
bool hearth_has_setting(hearth_str name);
/* Several requests will be in flight: refuse what they cannot share, such as persistent connections. */
void hearth_refuse_persistent(bool refuse);

/* ---- command line ---- */

int hearth_cli_info(char what);
bool hearth_cli_request_startup(const char *script, int argc, char **argv);
hearth_task *hearth_cli_task(const char *script, const char *code, char mode, void *owner);
int hearth_cli_finish(void);

/* ---- tasks ---- */

typedef enum { HEARTH_STEP_WAITING = 0, HEARTH_STEP_DONE = 1, HEARTH_STEP_BROKEN = 2 } hearth_step;

hearth_task *hearth_task_request(void *owner, void *request);

/* What a classic request runs. All of it lives as long as the request. */
typedef struct {
	const char *filename;
	hearth_str name, path_info, document_root;
	/* In place of that of the request, if there is one. */
	hearth_str query;
	bool has_query;
} hearth_script;

/* One at a time: the next only after the one before has ended. */
hearth_task *hearth_task_classic(void *owner, void *request, const hearth_script *script);
/* A task in which a loop is told to end, and ends; NULL if none waits. */
hearth_task *hearth_loop_stop(void *owner);
hearth_step hearth_task_resume(hearth_task *task);
void hearth_task_suspend(void);
void hearth_task_free(hearth_task *task);
/* The id of a task whose end PHP code is to hear of; 0 for a script's, after which nothing runs any more. */
uint64_t hearth_task_id_for_others(const hearth_task *task);
void *hearth_current_owner(void);
size_t hearth_owners_below(void **owners, size_t room);
/* Of the task that the request of the running one began with; NULL if that has ended. */
void *hearth_owner_of_request(void);
uint64_t hearth_current_task_id(void);
/* Does the internal function with this name run, on top of everything else? */
bool hearth_calls(hearth_str function);
/* The number of the descriptor with that index among those that proc_open(), which runs, hands on; -1: no more. */
int64_t hearth_handed_on(uint32_t index);
bool hearth_hooks_may_wait(void);
bool hearth_must_stay(void);
/* The same, but Rust may run on the task's stack: it is Rust that asks. */
bool hearth_may_suspend(void);
/* Throws the error that a wait is impossible here. */
void hearth_refuse_wait(void);
bool hearth_busy(bool busy);
void hearth_interrupt(void);
void hearth_time_out(int64_t limit);
bool hearth_is_unwinding(void);
/* ignore_user_abort() holds for its request. */
bool hearth_task_ignores_client(const hearth_task *task);
/* The calls that it waits in, or, for NULL, those that the running code is in, as text: see task/trace.c. */
size_t hearth_task_trace(const hearth_task *task, char *at, size_t room);
/* Where the code is that runs, for another thread; 0 where that cannot be seen. */
size_t hearth_outside_trace(char *at, size_t room);
/* More than three quarters of memory_limit are in use. */
bool hearth_heap_is_full(void);
/* A wait of the running task on a descriptor was ended early: see task/interrupted.c. */
void hearth_note_interrupted(int fd);
/* It is closed: nothing comes there any more. */
void hearth_descriptor_closed(int fd);

typedef enum { HEARTH_THROW_TIMEOUT = 0, HEARTH_THROW_CANCELLED = 1, HEARTH_THROW_ERROR = 2 } hearth_throwable;
void hearth_throw(hearth_throwable kind, hearth_str message);

void hearth_release(void *retained);
/* Before the process ends without closing what is open. */
void hearth_remove_temporary_files(void);

/* ---- called by C ---- */

typedef struct {
	hearth_str method, target, path, query, protocol;
	int protocol_number;       /* 1000 or 1001 */
} hearth_request_head;

typedef enum { HEARTH_BODY_FULL = 0, HEARTH_BODY_STREAM = 1, HEARTH_BODY_FILE = 2 } hearth_body_kind;

typedef struct {
	int status;
	hearth_body_kind kind;
	hearth_str body;           /* the bytes, or the path of the file */
	void *retained;            /* keeps `body` alive until hearth_release, or NULL: copy it now */
	const hearth_header *headers;
	size_t header_count;
	bool more;                 /* the task goes on after this response (defer, shutdown functions) */
	/* Of a classic script: a field `Status: 404 Gone` is the status, and `status_line` what header("HTTP/1.1 404 Gone") was given. */
	bool cgi;
	hearth_str status_line;
} hearth_response;

/* Both ends of the connection; a port is 0 where the address is not known, or is a path. */
typedef struct { hearth_str address, local; int port, local_port; bool secure; } hearth_client;

void hearth_on_head(void *request, hearth_request_head *out);
/* Of the body: its length is -1 when it is unknown. */
void hearth_on_content(void *request, hearth_str *type, int64_t *length);
bool hearth_on_header(void *request, hearth_str name, hearth_str *out);
size_t hearth_on_headers(void *request, hearth_header *out, size_t capacity);
hearth_client hearth_on_client(void *request);
void hearth_on_request_id(void *request, char buffer[16]);
/* Bytes of the body, 0 at its end, -1 when the client is gone, -2 when it is larger than the limit. Waits. */
ptrdiff_t hearth_on_body_read(void *request, char *buffer, size_t length);
/* Whether that would not wait, up to the end of the body. */
/* Why the last hearth_on_body_read() gave -1; empty if the task was ended in its wait. */
hearth_str hearth_on_body_error(void *request);
bool hearth_on_body_arrived(void *request);
void hearth_on_respond(void *request, const hearth_response *response);
/* The last piece of a streamed body, though the task may go on. Never waits. */
void hearth_on_finish(void *request, hearth_str piece);
/* A streamed body ends before it is complete, and its client is to see that. Never waits. */
void hearth_on_break_off(void *request);
/* One piece of a streamed body; false when the client is gone. Waits while the client is slow, where that is possible. */
bool hearth_on_write(void *request, hearth_str piece);
void hearth_on_request_retain(void *request);
void hearth_on_request_release(void *request);
void hearth_on_time_limit(void *owner, double seconds);
/* Classic mode: the CPU time that the script may use from now on, in seconds; 0 is no limit. */
void hearth_on_cpu_limit(int64_t seconds);
/* A fatal error has ended the request of `owner`, whose task goes on with what PHP does after one. */
void hearth_on_broken(void *owner);
/* This worker cannot go on: replace it after what it has; `at_once`: nothing reaches it meanwhile either. */
void hearth_on_leave(hearth_str reason, bool at_once);

typedef enum { HEARTH_LOG_DEBUG = 0, HEARTH_LOG_NOTICE = 1, HEARTH_LOG_WARNING = 2, HEARTH_LOG_ERROR = 3 } hearth_log_level;
void hearth_on_log(hearth_log_level level, hearth_str message);
/* The same for a task that may have ended. */
void hearth_on_task_log(void *owner, hearth_log_level level, hearth_str message);

/* A new task that has not run: the owner Rust keeps for it. `child`: it ends with `parent`'s request. */
void *hearth_on_task_new(void *parent_owner, hearth_task *task, bool child);
/* Run it up to its first wait, now, on top of the calling task. */
void hearth_on_task_start(void *owner);
/* Wait until the task behind `owner` has ended; seconds < 0: no limit. 0 ended, 1 timed out, 2 this task was cancelled. */
int hearth_on_await(void *owner, double seconds);
void hearth_on_cancel(void *owner);
void hearth_on_owner_release(void *owner);
/*
 * Wait for the children of this request to end, cancelling them first if asked to. False when the wait was ended early, with
 * an exception under way: they are cancelled then, but go on.
 */
bool hearth_on_join_children(bool cancel);
int hearth_on_park(double seconds);
bool hearth_on_unpark(void *owner);
/* Let every other runnable task go first. */
void hearth_on_yield(void);
void hearth_on_timer(double seconds, bool repeat, uint64_t callback);
bool hearth_on_timer_stop(uint64_t timer);
hearth_task *hearth_timer_task(uint64_t callback, void *owner);
void hearth_timer_forget(uint64_t callback);
/* A task that calls a PHP function with one number; NULL if there is no such function, or no memory. */
hearth_task *hearth_call_pools(const char *method, double argument, void *owner);
/* The pending cancellation of the current task, if any: throw it. */
void hearth_on_interrupt(void);
/* Is an exception with that message what the task that runs was to be told? Then it is told. */
bool hearth_on_told(hearth_str message);
/* Throws: the task that runs calls `function` on what that other one is using. */
void hearth_on_two_tasks(void *owner, uint64_t task, hearth_str function);
/* Does another task wait on that descriptor? Then it threw. */
bool hearth_on_refuses(int fd);
/* Does a library hold a lock on this thread? Then no task is left. */
bool hearth_on_holds_lock(void);

int64_t hearth_on_budget(hearth_str name, int64_t total);
bool hearth_on_budget_acquire(int64_t handle, int64_t n);
void hearth_on_budget_release(int64_t handle, int64_t n);
int64_t hearth_on_budget_used(int64_t handle);
/* What PHP code that the server called has to say to it. */
void hearth_on_report(hearth_str text);

/* ---- the cache that all workers share, called by C ---- */

/* An entry or a tag as it was read. */
typedef struct { uint64_t stamp, cell; } hearth_cache_mark;

/* NOTHING: of one of several keys that were read, that it has no value. */
typedef enum { HEARTH_CACHE_NOTHING = -1, HEARTH_CACHE_INT = 0, HEARTH_CACHE_PLAIN = 1, HEARTH_CACHE_SERIALIZED = 2 } hearth_cache_form;
typedef enum { HEARTH_CACHE_LOCK = 3, HEARTH_CACHE_COMPUTATION = 4 } hearth_cache_space;
typedef enum { HEARTH_CACHE_ALWAYS = 0, HEARTH_CACHE_IF_ABSENT = 1, HEARTH_CACHE_IF_EQUAL = 2, HEARTH_CACHE_IF_CLAIMED = 3 } hearth_cache_condition;
typedef enum { HEARTH_CACHE_COMPUTED = 0, HEARTH_CACHE_SPARED = 1 } hearth_cache_event;
/* What became of it; NONE: there is no cache. */
typedef enum {
	HEARTH_CACHE_NO = 0, HEARTH_CACHE_YES = 1, HEARTH_CACHE_TOO_LARGE = 2, HEARTH_CACHE_FULL = 3, HEARTH_CACHE_STUCK = 4,
	HEARTH_CACHE_NOT_INT = 5, HEARTH_CACHE_OVERFLOW = 6, HEARTH_CACHE_BAD_KEY = 7, HEARTH_CACHE_NONE = 8,
	HEARTH_CACHE_NOT_HELD = 9, HEARTH_CACHE_AWAY = 10, HEARTH_CACHE_DENIED = 11,
} hearth_cache_outcome;

/* Pointers live until the next call. */
typedef struct {
	hearth_str bytes;
	const hearth_cache_mark *marks;
	size_t mark_count;
	int form;
	int64_t number;
	uint64_t expires, stale;
} hearth_cache_found;

typedef struct {
	hearth_str key, bytes;
	int form;
	int64_t number;
	uint64_t ttl, fresh;
	const hearth_str *tags;
	size_t tag_count;
	const hearth_cache_mark *marks;
	size_t mark_count;
	int condition, expected_form;
	hearth_str expected;
	int64_t expected_number;
	uint64_t token;
} hearth_cache_write;

typedef struct { hearth_str name; uint64_t value; } hearth_cache_figure;
/* `left` are microseconds, 0 for ever. `reads` are counted up to 3. */
typedef struct { hearth_str key; uint64_t size, reads, left; } hearth_cache_entry;

bool hearth_on_cache_is_current(const hearth_cache_mark *marks, size_t count, uint64_t expires);
int hearth_on_cache_read(hearth_str key, hearth_cache_found *out);
/* Each of these keys. */
int hearth_on_cache_read_many(const hearth_str *keys, size_t count, hearth_cache_found *out);
int hearth_on_cache_write(const hearth_cache_write *write);
/* What became of each. With `whole` none is written if one of them can never be. */
void hearth_on_cache_write_many(const hearth_cache_write *writes, size_t count, bool whole, int *outcomes);
/* `number` is added, or written where there is none. */
int hearth_on_cache_increment(const hearth_cache_write *write, int64_t *sum);
int hearth_on_cache_delete(hearth_str key);
/* `deleted`: of each, whether there was one. */
int hearth_on_cache_delete_many(const hearth_str *keys, size_t count, bool *deleted);
int hearth_on_cache_delete_tag(hearth_str tag);
/* `deleted`: how many there were. */
int hearth_on_cache_delete_tags(const hearth_str *tags, size_t count, size_t *deleted);
int hearth_on_cache_clear(void);
int hearth_on_cache_tags(const hearth_str *tags, size_t count, hearth_cache_mark *out);
/* `number`: the claim's, or the holder's where there is one. */
/* An `owner` without a name is the task that runs. */
int hearth_on_cache_claim(int space, hearth_str name, hearth_str owner, uint64_t time, uint64_t *number);
/* The number of a claim that is held: by the owner of that name, or by any for none. */
int hearth_on_cache_token(int space, hearth_str name, hearth_str owner, uint64_t *number);
int hearth_on_cache_give_back(int space, hearth_str name, uint64_t token);
int hearth_on_cache_extend(int space, hearth_str name, uint64_t token, uint64_t time);
int hearth_on_cache_holds(int space, hearth_str name, uint64_t token);
/* Until something happens to a key that another machine computes, or for a moment. */
int hearth_on_cache_wait(hearth_str key);
void hearth_on_cache_count(int event);
/* Microseconds of the clock that `expires` and `stale` are of. */
uint64_t hearth_on_cache_now(void);
size_t hearth_on_cache_largest(void);
/* The number of figures. */
/* Notes the values whose keys begin with that; how many there are. */
size_t hearth_on_cache_list(hearth_str prefix);
/* One of those that were noted; its key lives until others are. */
hearth_cache_entry hearth_on_cache_listed(size_t at);
size_t hearth_on_cache_stats(hearth_cache_figure *out, size_t capacity);

/* ---- sessions, in the same memory; what is read and written is locked by the caller ---- */

/* `number`: the lock's, or the holder where there is one. */
int hearth_on_session_lock(hearth_str key, uint64_t *number);
int hearth_on_session_unlock(hearth_str key, uint64_t token);
int hearth_on_session_exists(hearth_str key);
/* NO: there was none, and an empty one was made. The bytes live until the next call. */
int hearth_on_session_read(hearth_str key, uint64_t token, int64_t seconds, hearth_str *out);
/* `evicted`: how many others left to make room. */
int hearth_on_session_write(hearth_str key, uint64_t token, hearth_str data, int64_t seconds, uint64_t *evicted);
int hearth_on_session_touch(hearth_str key, uint64_t token, int64_t seconds);
int hearth_on_session_destroy(hearth_str key);
int hearth_on_session_collect(uint64_t *removed);
void hearth_on_session_awaited(void);

/* How much memory the decoded values of a process may take. */
void hearth_cache_copies_limit(size_t bytes);

#endif
