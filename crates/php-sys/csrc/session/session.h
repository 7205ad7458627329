/*
 * Sessions: the calls of PHP's session module (start.c, calls.c), and sessions in the cache that all workers share, which are
 * PHP's save handler "hearth" and the class Hearth\Session. The exchange between requests is state/session.c.
 */
#ifndef HEARTH_SESSION_H
#define HEARTH_SESSION_H

#include "engine/engine.h"

/* Bytes of path and id, with a NUL byte between them; as in crates/cache. */
#define HEARTH_SESSION_MAX_KEY 1024
#define HEARTH_SESSION_MAX_PATH 700

/* session/start.c: whether a session is open, and the check of the session that session_start() has just opened. */
bool hearth_session_is_open(void);
void hearth_session_begun(void);
/* Starts the session of a request where session.auto_start is on. An exception may be pending. */
void hearth_session_auto_start(void);
/* session/calls.c: forgets the call that the task was in when a fatal error left its stack. */
void hearth_session_call_forget(const hearth_task *task);

/* session/locks.c: the sessions that requests of this process have open. */
typedef struct hearth_session_lock {
	const hearth_request_state *request;
	const void *by;                  /* the handler that opened it in that request */
	uint64_t token;
	zend_long process;               /* the process that took it: a pcntl_fork() copy has it open, but not the lock */
	struct hearth_session_lock *next;
	size_t length;
	char key[];
} hearth_session_lock;

/*
 * Waits while another request has the lock. NULL: a warning or an exception has the reason. A lock that this request has
 * already is returned at once.
 */
hearth_session_lock *hearth_session_lock_take(const void *by, hearth_str key);
/* Returns NULL if `by` has not opened it. */
hearth_session_lock *hearth_session_lock_find(const void *by, hearth_str key);
/* Whether `by` has any session open. */
bool hearth_session_lock_any(const void *by);
void hearth_session_lock_release(hearth_session_lock *lock);
/* Releases all sessions that `by` has open. */
void hearth_session_locks_release(const void *by);

/* session/paths.c: the paths that requests have opened with an object. */
void hearth_session_path_set(const void *by, const zend_string *path);
/* False: the running request has opened none with it. The text is valid until it opens another, or ends. */
bool hearth_session_path_of(const void *by, hearth_str *path);
/* The object is freed. */
void hearth_session_paths_forget(const void *by);
void hearth_session_paths_end(const hearth_request_state *request);

/* session/store.c: common operations of both handlers. */
/* Makes the key in the cache for a session id; false if the id is invalid. */
bool hearth_session_valid_key(hearth_str path, zend_string *id, char buffer[HEARTH_SESSION_MAX_KEY], hearth_str *key);
/* The same, with a warning if the id is invalid. */
bool hearth_session_key(hearth_str path, zend_string *id, char buffer[HEARTH_SESSION_MAX_KEY], hearth_str *key);
bool hearth_session_exists(hearth_str key);
/* False: a warning or an exception has the reason. */
bool hearth_session_read(const void *by, hearth_str key, zend_long lifetime, zend_string **data);
bool hearth_session_write(const void *by, hearth_str key, zend_string *data, zend_long lifetime);
/* Keeps the same data for another `lifetime` seconds; writes the session if it does not exist. */
bool hearth_session_touch(const void *by, hearth_str key, zend_string *data, zend_long lifetime);
/* If another request has the session open, nothing that it writes is kept. */
bool hearth_session_destroy(const void *by, hearth_str key);
/* Returns the number of expired sessions that were removed; -1 after a warning. */
zend_long hearth_session_collect(void);
bool hearth_session_done(int outcome, size_t size);
zend_string *hearth_session_new_id(hearth_str path, void **handler);

/* session/handler.c */
void hearth_register_session_handler(void);
/* session/class.c */
void hearth_register_session_class(void);

#endif
