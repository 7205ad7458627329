/* Operations on sessions in the cache, and their warnings. */
#include "session/session.h"

/* Seconds between two log lines that sessions take too much. */
#define BETWEEN_WARNINGS 60.0

bool hearth_session_done(int outcome, size_t size)
{
	switch (outcome) {
		case HEARTH_CACHE_NONE:
			php_error_docref(NULL, E_WARNING, "Sessions are kept in the cache, and there is no cache: cache.size is 0");
			break;
		case HEARTH_CACHE_FULL:
			php_error_docref(NULL, E_WARNING, "There is no room for the session: visitors' sessions take half of cache.size. Raise it, or "
				"lower session.gc_maxlifetime");
			break;
		case HEARTH_CACHE_TOO_LARGE:
			php_error_docref(NULL, E_WARNING, "The session takes %zu bytes, and one may take at most %zu, half of cache.size: raise it, or "
				"store less", size, hearth_on_cache_largest());
			break;
		case HEARTH_CACHE_LOCK_TIMEOUT:
			php_error_docref(NULL, E_WARNING, "Another process has held the cache for 5 s");
			break;
		case HEARTH_CACHE_NOT_HELD:
			php_error_docref(NULL, E_WARNING, "The request no longer holds the session, so nothing is written");
			break;
		default:
			break;
	}
	return outcome == HEARTH_CACHE_YES || outcome == HEARTH_CACHE_NO;
}

bool hearth_session_valid_key(hearth_str path, zend_string *id, char buffer[HEARTH_SESSION_MAX_KEY], hearth_str *key)
{
	if (php_session_valid_key(ZSTR_VAL(id)) == FAILURE || strlen(ZSTR_VAL(id)) != ZSTR_LEN(id)) {
		return false;
	}
	memcpy(buffer, path.ptr, path.len);
	buffer[path.len] = '\0';
	memcpy(buffer + path.len + 1, ZSTR_VAL(id), ZSTR_LEN(id));
	*key = (hearth_str){buffer, path.len + 1 + ZSTR_LEN(id)};
	return true;
}

bool hearth_session_key(hearth_str path, zend_string *id, char buffer[HEARTH_SESSION_MAX_KEY], hearth_str *key)
{
	if (hearth_session_valid_key(path, id, buffer, key)) {
		return true;
	}
	php_error_docref(NULL, E_WARNING, "Session ID is too long or contains illegal characters. Only the A-Z, a-z, 0-9, \"-\", and \",\" "
		"characters are allowed");
	return false;
}

bool hearth_session_exists(hearth_str key)
{
	return hearth_on_session_exists(key) == HEARTH_CACHE_YES;
}

/* Whether a warning is due, which is logged once a minute at most. */
static bool is_due(double *before)
{
	double now = hearth_monotonic();

	if (*before != 0 && now - *before <= BETWEEN_WARNINGS) {
		return false;
	}
	*before = now;
	return true;
}

static void warn(double *before, const char *what, uint64_t count)
{
	if (is_due(before)) {
		hearth_log(HEARTH_LOG_WARNING, "%s: sessions take half of cache.size; raise it, or lower session.gc_maxlifetime count=%llu", what,
			(unsigned long long) count);
	}
}

static void warn_of_refusal(int outcome)
{
	static double before;

	if (outcome == HEARTH_CACHE_FULL) {
		warn(&before, "a session was refused, for want of room", 1);
	}
}

static void warn_of_lifetime(zend_long lifetime)
{
	static double before;

	if (UNEXPECTED(lifetime <= 0) && is_due(&before)) {
		hearth_log(HEARTH_LOG_WARNING, "session.gc_maxlifetime is " ZEND_LONG_FMT ", so each session ends as soon as it is written: set a "
			"number of seconds greater than 0", lifetime);
	}
}

bool hearth_session_read(const void *by, hearth_str key, zend_long lifetime, zend_string **data)
{
	hearth_session_lock *lock = hearth_session_lock_take(by, key);
	hearth_str bytes = {NULL, 0};
	int outcome;

	if (!lock) {
		return false;
	}
	warn_of_lifetime(lifetime);
	outcome = hearth_on_session_read(key, lock->token, lifetime, &bytes);
	warn_of_refusal(outcome);
	if (!hearth_session_done(outcome, 0)) {
		return false;
	}
	*data = bytes.len ? zend_string_init(bytes.ptr, bytes.len, 0) : ZSTR_EMPTY_ALLOC();
	return true;
}

bool hearth_session_write(const void *by, hearth_str key, zend_string *data, zend_long lifetime)
{
	static double before;
	hearth_session_lock *lock = hearth_session_lock_take(by, key);
	uint64_t evicted = 0;
	int outcome;

	if (!lock) {
		return false;
	}
	outcome = hearth_on_session_write(key, lock->token, (hearth_str){ZSTR_VAL(data), ZSTR_LEN(data)}, lifetime, &evicted);
	warn_of_refusal(outcome);
	if (UNEXPECTED(evicted)) {
		warn(&before, "sessions that no second request has used were evicted before their time", evicted);
	}
	return hearth_session_done(outcome, ZSTR_LEN(data));
}

bool hearth_session_touch(const void *by, hearth_str key, zend_string *data, zend_long lifetime)
{
	hearth_session_lock *lock = hearth_session_lock_take(by, key);
	int outcome = lock ? hearth_on_session_touch(key, lock->token, lifetime) : HEARTH_CACHE_NOT_HELD;

	if (outcome == HEARTH_CACHE_NO) {
		return hearth_session_write(by, key, data, lifetime);
	}
	return lock && hearth_session_done(outcome, 0);
}

bool hearth_session_destroy(const void *by, hearth_str key)
{
	const hearth_session_lock *lock = hearth_session_lock_find(by, key);

	return hearth_session_done(hearth_on_session_destroy(key, lock ? lock->token : 0), 0);
}

zend_long hearth_session_collect(void)
{
	uint64_t removed = 0;

	return hearth_session_done(hearth_on_session_collect(&removed), 0) ? (zend_long) removed : -1;
}

/* Makes an id as the engine does; NULL after an exception. */
zend_string *hearth_session_new_id(hearth_str path, void **handler)
{
	char buffer[HEARTH_SESSION_MAX_KEY];
	hearth_str key;

	for (int attempts = 0; attempts < 3; attempts++) {
		zend_string *id = php_session_create_id(handler);

		if (!id) {
			return NULL;
		}
		if (!hearth_session_valid_key(path, id, buffer, &key) || !hearth_session_exists(key)) {
			return id;
		}
		zend_string_release(id);
	}
	return NULL;
}
