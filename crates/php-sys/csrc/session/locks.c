/*
 * The sessions that requests of this process have open. A request has a session for itself from the first read to its close;
 * sessions left open are closed at the request's end, however it ends, and the cache closes those that a process leaves.
 */
#include "session/session.h"
#include "task/no_suspend.h"

#include <unistd.h>

/* Microseconds between two attempts. */
#define FIRST_WAIT 200
#define LONGEST_WAIT 5000
/* Seconds that a request waits at most: longer than most requests may take. */
#define LONGEST_QUEUE 30.0

/* In memory of the process: a request that broke leaves its locks behind. */
static hearth_session_lock *locks;

static bool has_key(const hearth_session_lock *lock, hearth_str key)
{
	return lock->length == key.len && memcmp(lock->key, key.ptr, key.len) == 0;
}

hearth_session_lock *hearth_session_lock_find(const void *by, hearth_str key)
{
	hearth_session_lock *lock = locks;

	while (lock && !(lock->by == by && has_key(lock, key))) {
		lock = lock->next;
	}
	return lock;
}

/* Finds a lock that another handler of this very request has: the request would wait for itself. */
static hearth_session_lock *find_in_request(hearth_str key)
{
	hearth_session_lock *lock = locks;

	while (lock && !(lock->request == hearth_current_request() && has_key(lock, key))) {
		lock = lock->next;
	}
	return lock;
}

bool hearth_session_lock_any(const void *by)
{
	const hearth_session_lock *lock = locks;

	while (lock && lock->by != by) {
		lock = lock->next;
	}
	return lock != NULL;
}

static hearth_session_lock *keep(const void *by, hearth_str key, uint64_t token)
{
	hearth_session_lock *lock = pemalloc(sizeof *lock + key.len, 1);

	lock->request = hearth_current_request();
	lock->by = by;
	lock->token = token;
	lock->process = hearth_process_id();
	lock->length = key.len;
	memcpy(lock->key, key.ptr, key.len);
	lock->next = locks;
	locks = lock;
	return lock;
}

/* Whether a task of this process has the lock and cannot go on while this one waits. */
static bool waits_for_itself(uint64_t holder)
{
	return holder >> 32 == (uint64_t) hearth_process_id() && !hearth_may_suspend();
}

/* False: another attempt is not worthwhile. */
static bool pause_for(useconds_t *time, double until, uint64_t holder)
{
	if (waits_for_itself(holder)) {
		php_error_docref(NULL, E_WARNING, "Another request of this worker has the session, and this one cannot wait for it here: "
			"open sessions outside of autoloaders and destructors");
		return false;
	}
	if (hearth_monotonic() > until) {
		php_error_docref(NULL, E_WARNING, "Another request (of process %u) has had the session for %d s: call session_write_close() "
			"before long work", (unsigned) (holder >> 32), (int) LONGEST_QUEUE);
		return false;
	}
	usleep(*time);
	*time = MIN(*time * 2, LONGEST_WAIT);
	hearth_bail_out_if_fatal();
	return !EG(exception);
}

hearth_session_lock *hearth_session_lock_take(const void *by, hearth_str key)
{
	hearth_session_lock *lock = hearth_session_lock_find(by, key);
	double until = hearth_monotonic() + LONGEST_QUEUE;
	useconds_t time = FIRST_WAIT;
	uint64_t number = 0;

	lock = lock ? lock : find_in_request(key);
	if (lock) {
		return lock;
	}
	for (bool first = true;; first = false) {
		int outcome = hearth_on_session_lock(key, &number);

		if (outcome == HEARTH_CACHE_YES) {
			return keep(by, key, number);
		}
		if (outcome != HEARTH_CACHE_NO) {
			hearth_session_done(outcome, 0);
			return NULL;
		}
		if (first) {
			hearth_on_session_awaited();
		}
		if (!pause_for(&time, until, number)) {
			return NULL;
		}
	}
}

static void release(hearth_session_lock **at)
{
	hearth_session_lock *lock = *at;

	*at = lock->next;
	if (lock->process == hearth_process_id()) {
		hearth_on_session_unlock((hearth_str){lock->key, lock->length}, lock->token);
	}
	pefree(lock, 1);
}

void hearth_session_lock_release(hearth_session_lock *lock)
{
	hearth_session_lock **at = &locks;

	while (*at != lock) {
		at = &(*at)->next;
	}
	release(at);
}

void hearth_session_locks_release(const void *by)
{
	for (hearth_session_lock **at = &locks; *at;) {
		if ((*at)->by == by) {
			release(at);
		} else {
			at = &(*at)->next;
		}
	}
}

void hearth_session_locks_end(const hearth_request_state *request)
{
	hearth_session_paths_end(request);
	for (hearth_session_lock **at = &locks; UNEXPECTED(*at);) {
		if ((*at)->request == request) {
			release(at);
		} else {
			at = &(*at)->next;
		}
	}
}
