/*
 * The only contract between C and Rust. No Zend type crosses it: only our own structs, ids, and pointer + length pairs.
 *
 * Names give the direction: hearth_* is C called by Rust, hearth_on_* is Rust called by C.
 * Every hearth_* function that may run PHP code holds its own zend_try, so no longjmp ever leaves it; hearth_throw, which
 * Rust calls with its frames on the stack, puts a fatal error off until they have returned.
 * Memory behind a pointer, and the bytes of a text, are valid during the call, unless said otherwise.
 * hearth_on_* functions are called on a task's stack, and a few that only log, count or release also where no task runs.
 * While one of the others runs, libc hooks let calls pass (see hearth_hooks_may_wait).
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
	HEARTH_CLI = 2,            /* `hearth run`: replaces the php command */
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

/* The version of the engine, such as 8.2.36. */
hearth_str hearth_php_version(void);
bool hearth_boot(const hearth_boot_args *args);
void hearth_prelude_register(const hearth_source *files, size_t count);
hearth_outcome hearth_run_entry(const char *path);
hearth_str hearth_boot_error(void);
hearth_str hearth_last_thrown(void);
void hearth_seal(void);
void hearth_after_fork(void);
/* Ignores SIGTERM, SIGINT, SIGHUP and SIGUSR1, which are the supervisor's: this process leaves when told to. */
void hearth_pass_over_signals(void);
uint64_t hearth_post_max_size(void);
/* Whether opcache checks that a script has not changed since it was compiled. */
bool hearth_validates_timestamps(void);
/* The kind of the app: a word of Hearth\Internal\Adapter::entryKind(), or "frankenphp". */
hearth_str hearth_handler_kind(void);
bool hearth_has_extension(hearth_str name);
bool hearth_has_setting(hearth_str name);
/* True: several requests will be in flight, so what they cannot share is refused, such as persistent connections. */
void hearth_refuse_persistent(bool refuse);
/* That many requests may be in flight: twice as many ended tasks keep their stacks. */
void hearth_contexts_of_requests(uint32_t concurrency);

/* ---- command line ---- */

int hearth_cli_info(char what);
bool hearth_cli_request_startup(const char *script, int argc, char **argv);
hearth_task *hearth_cli_task(const char *script, const char *code, char mode, void *owner);
int hearth_cli_finish(void);

/* ---- tasks ---- */

typedef enum { HEARTH_STEP_WAITING = 0, HEARTH_STEP_DONE = 1, HEARTH_STEP_BROKEN = 2 } hearth_step;

hearth_task *hearth_task_request(void *owner, void *request);

/* The script of a classic request. All of it lives as long as the request. */
typedef struct {
	const char *filename;
	hearth_str name, path_info, document_root;
	/* Replaces the query of the request, if `has_query`. */
	hearth_str query;
	bool has_query;
} hearth_script;

/* One at a time: a new task only after the previous one has ended. */
hearth_task *hearth_task_classic(void *owner, void *request, const hearth_script *script);
/* Returns a task in which frankenphp_handle_request() returns false, and the loop ends; NULL if no loop waits. */
hearth_task *hearth_loop_stop(void *owner);
hearth_step hearth_task_resume(hearth_task *task);
/* Returns the exit status that the code of the task resumed last has set: by exit(), an exception or a fatal error. */
int hearth_exit_status(void);
void hearth_task_suspend(void);
void hearth_task_free(hearth_task *task);
/* The id of a task whose end PHP code is told of; 0 for a script's, after which no PHP code runs. */
uint64_t hearth_task_id_for_others(const hearth_task *task);
void *hearth_current_owner(void);
size_t hearth_owners_below(void **owners, size_t room);
/* Returns the owner of the first task of the request in whose time the running task runs; NULL if that task has ended. */
void *hearth_owner_of_request(void);
uint64_t hearth_current_task_id(void);
/* Whether the innermost running function is the internal function with this name. */
bool hearth_calls(hearth_str function);
/* Returns the index-th descriptor that the running proc_open() passes to the child; -1: there are no more. */
int64_t hearth_handed_on(uint32_t index);
/*
 * Returns the index-th child that the running pcntl_wait() or pcntl_waitpid() of a request may wait for, if it is called for `pid`, as
 * waitpid(2) takes it; 0: there are no more; -1: it may wait for all children of the process.
 */
int hearth_child(int pid, uint32_t index);
/* A child has ended and was waited for: its number may become another's. */
void hearth_child_ended(int pid);
/*
 * What a call that blocks does here: no task runs, so it blocks; the task can be suspended; or the task must not be left, though
 * others could run meanwhile, so the call blocks them all.
 */
typedef enum { HEARTH_WAIT_BLOCKS = 0, HEARTH_WAIT_SUSPENDS = 1, HEARTH_WAIT_BLOCKS_LIMITED = 2 } hearth_wait_mode;
hearth_wait_mode hearth_mode_of_wait(void);
bool hearth_hooks_may_wait(void);
/* The same, but asked by Rust, which may run on the task's stack. */
bool hearth_may_suspend(void);
/* Whether the running code is called in the middle of a change of an SplHeap or SplPriorityQueue, which an exception leaves corrupted. */
bool hearth_heap_is_changed(void);
/* Throws the error that a task cannot wait here. */
void hearth_refuse_wait(void);
bool hearth_busy(bool busy);
void hearth_interrupt(void);
void hearth_time_out(int64_t limit);
bool hearth_is_unwinding(void);
/* Whether ignore_user_abort() is in force for the task's request. */
bool hearth_task_ignores_client(const hearth_task *task);
/* Whether the running task is in the code of a file that is included once, which must come to its end. */
bool hearth_in_file_once(void);
/* Writes the stack trace of where the task waits, or, for NULL, of the running code: see task/trace.c. */
size_t hearth_task_trace(const hearth_task *task, char *at, size_t room);
/* Writes the stack trace of the running code; for another thread. 0 where it cannot be read. */
size_t hearth_outside_trace(char *at, size_t room);
/* Whether more than three quarters of memory_limit are in use. */
bool hearth_heap_is_full(void);
/* Notes that a wait of the running task on a descriptor was ended early: see task/interrupted.c. */
void hearth_note_interrupted(int fd);
/* Forgets a descriptor that was closed: no answer will arrive there. */
void hearth_descriptor_closed(int fd);

/* HEARTH_THROW_UNHEARD: cancelled, because the client has left or the server stops. */
typedef enum { HEARTH_THROW_TIMEOUT = 0, HEARTH_THROW_CANCELLED = 1, HEARTH_THROW_ERROR = 2, HEARTH_THROW_UNHEARD = 3 } hearth_throwable;
void hearth_throw(hearth_throwable kind, hearth_str message);

void hearth_release(void *retained);
/* Called before the process ends without closing what is open. */
void hearth_remove_temporary_files(void);
/* Whether the descriptor is of a stream of php://temp or tmpfile(). */
bool hearth_is_temporary_file(int fd);

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
	/* A classic script: a field `Status: 404 Gone` is the status; `status_line` is that of header("HTTP/1.1 404 Gone"). */
	bool cgi;
	hearth_str status_line;
} hearth_response;

/* Both ends of the connection; a port is 0 where the address is unknown, or a path. */
typedef struct { hearth_str address, local; int port, local_port; bool secure; } hearth_client;

void hearth_on_head(void *request, hearth_request_head *out);
/* Type and length of the body; the length is -1 when it is unknown. */
void hearth_on_content(void *request, hearth_str *type, int64_t *length);
bool hearth_on_header(void *request, hearth_str name, hearth_str *out);
size_t hearth_on_headers(void *request, hearth_header *out, size_t capacity);
hearth_client hearth_on_client(void *request);
void hearth_on_request_id(void *request, char buffer[16]);
/* Returns the bytes read, 0 at the end of the body, -1 if the client is gone, -2 if the body exceeds the limit. Waits. */
ptrdiff_t hearth_on_body_read(void *request, char *buffer, size_t length);
/* Why the last hearth_on_body_read() returned -1; empty if the task was ended in its wait. */
hearth_str hearth_on_body_error(void *request);
/* Whether reading up to the end of the body would not wait. */
bool hearth_on_body_arrived(void *request);
void hearth_on_respond(void *request, const hearth_response *response);
/* Sends the last piece of a streamed body; the task may go on. Never waits. */
void hearth_on_finish(void *request, hearth_str piece);
/* Ends a streamed body before it is complete, visibly for the client. Never waits. */
void hearth_on_break_off(void *request);
/* Sends one piece of a streamed body; false if the client is gone. Waits for a slow client, where that is possible. */
bool hearth_on_write(void *request, hearth_str piece);
void hearth_on_request_retain(void *request);
void hearth_on_request_release(void *request);
void hearth_on_time_limit(void *owner, double seconds);
/* Classic mode: sets the CPU time that the script may use from now on, in seconds; 0 is no limit. */
void hearth_on_cpu_limit(int64_t seconds);
/* A fatal error has ended the request of `owner`, whose task goes on with PHP's steps after a fatal error. */
void hearth_on_broken(void *owner);
/*
 * Releases the locks on files, semaphores and connections of the running task, which a fatal error has ended; `of_request`: those of its
 * request's ended tasks, too.
 */
void hearth_on_release_held(void *owner, bool of_request);
/* Whether that task has not ended. */
bool hearth_task_is_alive(uint64_t id);
/* The running call has taken a record lock. */
void hearth_records_locked(void);
/* Replaces this worker after its current requests; `at_once`: it gets no other requests meanwhile. */
void hearth_on_leave(hearth_str reason, bool at_once);

typedef enum { HEARTH_LOG_DEBUG = 0, HEARTH_LOG_NOTICE = 1, HEARTH_LOG_WARNING = 2, HEARTH_LOG_ERROR = 3 } hearth_log_level;
void hearth_on_log(hearth_log_level level, hearth_str message);
/* The same, for a task that may have ended. */
void hearth_on_task_log(void *owner, hearth_log_level level, hearth_str message);

/* Returns Rust's owner of a new task that has not run. `child`: the task ends with `parent_owner`'s request. */
void *hearth_on_task_new(void *parent_owner, hearth_task *task, bool child);
/* Runs it up to its first wait, now, on top of the calling task. */
void hearth_on_task_start(void *owner);
/* Waits until the task of `owner` has ended; seconds < 0: no limit. 0 ended, 1 timed out, 2 the caller was cancelled. */
int hearth_on_await(void *owner, double seconds);
void hearth_on_cancel(void *owner);
void hearth_on_owner_release(void *owner);
/*
 * Waits for the children of this request to end; cancels them first if asked to. False when the wait was ended early, with
 * an exception pending: the children are cancelled then, but go on.
 */
bool hearth_on_join_children(bool cancel);
int hearth_on_park(double seconds);
bool hearth_on_unpark(void *owner);
/* Lets every other runnable task run first. */
void hearth_on_yield(void);
void hearth_on_timer(double seconds, bool repeat, uint64_t callback);
bool hearth_on_timer_stop(uint64_t timer);
hearth_task *hearth_timer_task(uint64_t callback, void *owner);
void hearth_timer_forget(uint64_t callback);
/* Returns a task that runs the collector of cycles; NULL if no value may be part of a cycle, or after a fatal error. */
hearth_task *hearth_collector_task(void *owner);
/* Returns a task that calls a method of PoolReports with one number; NULL if there are no pools, or no memory. */
hearth_task *hearth_call_pools(const char *method, double argument, void *owner);
/* Throws the pending cancellation of the current task, if there is one. Without a frame, no code runs that would get it: it stays pending. */
void hearth_on_interrupt(bool has_frame);
/* Whether the running task has a pending cancellation with that message; if so, it counts as delivered. */
bool hearth_on_cancel_delivered(hearth_str message);
/* Whether the running task's request was cancelled because its time is over. */
bool hearth_on_is_overdue(void);
/* Throws an error: the running task calls `function` on something that task number `task` is using. */
void hearth_on_two_tasks(void *owner, uint64_t task, hearth_str function);
/* Whether another task waits on that descriptor; if so, an exception is pending. */
bool hearth_on_refuses(int fd);
/* Whether a library holds a lock on this thread; if so, no task may be left. */
bool hearth_on_holds_lock(void);

int64_t hearth_on_budget(hearth_str name, int64_t total);
bool hearth_on_budget_acquire(int64_t handle, int64_t n);
void hearth_on_budget_release(int64_t handle, int64_t n);
int64_t hearth_on_budget_used(int64_t handle);
/* Passes the result of PHP code that the server has called. */
void hearth_on_report(hearth_str text);

/* ---- the cache that all workers share, called by C ---- */

/* The version of an entry or a tag at the time of reading. */
typedef struct { uint64_t sequence, cell; } hearth_cache_validator;

/* NOTHING: in a read of several keys, this key has no value. */
typedef enum { HEARTH_CACHE_NOTHING = -1, HEARTH_CACHE_INT = 0, HEARTH_CACHE_PLAIN = 1, HEARTH_CACHE_SERIALIZED = 2 } hearth_cache_encoding;
typedef enum { HEARTH_CACHE_LOCK = 3, HEARTH_CACHE_COMPUTATION = 4 } hearth_cache_space;
typedef enum { HEARTH_CACHE_ALWAYS = 0, HEARTH_CACHE_IF_ABSENT = 1, HEARTH_CACHE_IF_EQUAL = 2, HEARTH_CACHE_IF_CLAIMED = 3 } hearth_cache_condition;
typedef enum { HEARTH_CACHE_COMPUTED = 0, HEARTH_CACHE_COALESCED = 1 } hearth_cache_event;
/* How an operation ended; NONE: there is no cache. */
typedef enum {
	HEARTH_CACHE_NO = 0, HEARTH_CACHE_YES = 1, HEARTH_CACHE_TOO_LARGE = 2, HEARTH_CACHE_FULL = 3, HEARTH_CACHE_LOCK_TIMEOUT = 4,
	HEARTH_CACHE_NOT_INT = 5, HEARTH_CACHE_OVERFLOW = 6, HEARTH_CACHE_BAD_KEY = 7, HEARTH_CACHE_NONE = 8,
	HEARTH_CACHE_NOT_HELD = 9, HEARTH_CACHE_AWAY = 10, HEARTH_CACHE_DENIED = 11,
} hearth_cache_outcome;

/* A value that was read. Pointers live until the next call. */
typedef struct {
	hearth_str bytes;
	const hearth_cache_validator *validators;
	size_t validator_count;
	int encoding;
	int64_t number;
	uint64_t expires, stale;
	hearth_cache_validator own;           /* the entry's, which is the first validator; 0 where the memory has no entry */
} hearth_cache_found;

typedef struct {
	hearth_str key, bytes;
	int encoding;
	int64_t number;
	uint64_t ttl, fresh;
	const hearth_str *tags;
	size_t tag_count;
	const hearth_cache_validator *validators;
	size_t validator_count;
	int condition, expected_encoding;
	hearth_str expected;
	int64_t expected_number;
	uint64_t token;
} hearth_cache_write;

typedef struct { hearth_str name; uint64_t value; } hearth_cache_figure;
/* `left`: microseconds, 0 for no expiry. `reads` are counted up to 3. */
typedef struct { hearth_str key; uint64_t size, reads, left; } hearth_cache_entry;

bool hearth_on_cache_is_current(const hearth_cache_validator *validators, size_t count, uint64_t expires);
int hearth_on_cache_read(hearth_str key, hearth_cache_found *out);
/* Reads each of these keys. */
int hearth_on_cache_read_many(const hearth_str *keys, size_t count, hearth_cache_found *out);
/* The same from the memory of this server, and no read is counted. */
int hearth_on_cache_peek_many(const hearth_str *keys, size_t count, hearth_cache_found *out);
int hearth_on_cache_write(const hearth_cache_write *write);
/* `outcomes`: how each write ended. With `whole`, none is written if one of them can never succeed. */
void hearth_on_cache_write_many(const hearth_cache_write *writes, size_t count, bool whole, int *outcomes);
/* Adds `number`, or writes it if the key has no value. */
int hearth_on_cache_increment(const hearth_cache_write *write, int64_t *sum);
int hearth_on_cache_delete(hearth_str key);
/* `deleted`: for each key, whether there was a value. */
int hearth_on_cache_delete_many(const hearth_str *keys, size_t count, bool *deleted);
int hearth_on_cache_delete_tag(hearth_str tag);
/* `deleted`: the number of values deleted. */
int hearth_on_cache_delete_tags(const hearth_str *tags, size_t count, size_t *deleted);
int hearth_on_cache_clear(void);
int hearth_on_cache_tags(const hearth_str *tags, size_t count, hearth_cache_validator *out);
/* `number`: the claim's, or the holder's if the name is claimed. An empty `owner` means the running task. */
int hearth_on_cache_claim(int space, hearth_str name, hearth_str owner, uint64_t time, uint64_t *number);
/* Returns the number of a claim that is held: by the owner of that name, or by any owner if the name is empty. */
int hearth_on_cache_token(int space, hearth_str name, hearth_str owner, uint64_t *number);
int hearth_on_cache_give_back(int space, hearth_str name, uint64_t token);
int hearth_on_cache_extend(int space, hearth_str name, uint64_t token, uint64_t time);
int hearth_on_cache_holds(int space, hearth_str name, uint64_t token);
/* Waits until something happens to a key that another machine computes, or for a moment. */
int hearth_on_cache_wait(hearth_str key);
void hearth_on_cache_count(int event);
/* Microseconds of the clock of `expires` and `stale`. */
uint64_t hearth_on_cache_now(void);
size_t hearth_on_cache_largest(void);
/* Notes the values whose keys begin with `prefix`; returns their number. */
size_t hearth_on_cache_list(hearth_str prefix);
/* Returns one of the noted values; its key lives until the next hearth_on_cache_list(). */
hearth_cache_entry hearth_on_cache_listed(size_t at);
/* Returns the number of figures. */
size_t hearth_on_cache_stats(hearth_cache_figure *out, size_t capacity);

/* ---- sessions, in the same memory; the caller holds the lock of a session that it reads or writes ---- */

/* `number`: the lock's, or the holder's if the session is locked. */
int hearth_on_session_lock(hearth_str key, uint64_t *number);
int hearth_on_session_unlock(hearth_str key, uint64_t token);
int hearth_on_session_exists(hearth_str key);
/* NO: there was no session, and an empty one was made. The bytes live until the next call. */
int hearth_on_session_read(hearth_str key, uint64_t token, int64_t seconds, hearth_str *out);
/* `evicted`: the number of other sessions that were evicted to make room. */
int hearth_on_session_write(hearth_str key, uint64_t token, hearth_str data, int64_t seconds, uint64_t *evicted);
int hearth_on_session_touch(hearth_str key, uint64_t token, int64_t seconds);
/* `token`: the caller's lock, 0 for none. What another holder of the lock writes is not kept. */
int hearth_on_session_destroy(hearth_str key, uint64_t token);
int hearth_on_session_collect(uint64_t *removed);
void hearth_on_session_awaited(void);

/* The most bytes that the decoded values of a process may take. */
void hearth_cache_copies_limit(size_t bytes);

#endif
