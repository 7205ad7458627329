/* The class Hearth\CacheLock: a lock over all workers, with a token that grows from holder to holder. */
#include "cache/cache.h"
#include "task/no_suspend.h"
#include "cache/lock_arginfo.h"

#include <unistd.h>

#define FIRST_WAIT 500
#define LONGEST_WAIT 20000

typedef struct {
	zend_string *name;               /* NULL once the lock was given back */
	uint64_t token;
	zend_long process;               /* the process that took it: a pcntl_fork() copy of the object does not give it back */
	bool outlives_object;            /* taken for a named owner, so another process may hold it too */
	zend_object std;
} lock_object;

/*
 * The locks that tasks of this process hold by an object. A fatal error leaves its task's objects without an end; their
 * locks are given back all the same. Kept in memory of the process: of a script, that is all that is left.
 */
typedef struct held_lock {
	struct held_lock *next;
	const hearth_request_state *request;
	uint64_t task, token;
	zend_long process;
	size_t length;
	char name[];
} held_lock;

static held_lock *held;

static zend_class_entry *lock_ce;
static zend_object_handlers handlers;

static lock_object *lock_of(zend_object *object)
{
	return (lock_object *) ((char *) object - XtOffsetOf(lock_object, std));
}

#define SELF lock_of(Z_OBJ_P(ZEND_THIS))

static zend_object *create(zend_class_entry *ce)
{
	return hearth_object_new(ce, &handlers, sizeof(lock_object));
}

static hearth_str text_of(const zend_string *name)
{
	return (hearth_str){ZSTR_VAL(name), ZSTR_LEN(name)};
}

static void note_held(const lock_object *self)
{
	size_t length = ZSTR_LEN(self->name);
	held_lock *lock = pemalloc(sizeof *lock + length, 1);

	*lock = (held_lock){
		.next = held, .request = hearth_current_request(), .task = hearth_current_task_id(), .token = self->token,
		.process = self->process, .length = length,
	};
	memcpy(lock->name, ZSTR_VAL(self->name), length);
	held = lock;
}

static void forget_held(const zend_string *name, uint64_t token)
{
	for (held_lock **at = &held; *at; at = &(*at)->next) {
		held_lock *lock = *at;

		if (lock->token == token && lock->length == ZSTR_LEN(name) && memcmp(lock->name, ZSTR_VAL(name), lock->length) == 0) {
			*at = lock->next;
			pefree(lock, 1);
			return;
		}
	}
}

/* Whether the lock ends with the broken task; locks of its request's ended tasks end too. */
static bool ends_with(const held_lock *lock, const hearth_task *broken)
{
	return lock->task == hearth_task_id(broken)
		|| (broken->request && lock->request == broken->request && !hearth_task_by_id(lock->task));
}

void hearth_cache_locks_end(const hearth_task *broken)
{
	for (held_lock **at = &held; *at;) {
		held_lock *lock = *at;

		if (!ends_with(lock, broken)) {
			at = &lock->next;
			continue;
		}
		*at = lock->next;
		if (lock->process == hearth_process_id()) {
			hearth_on_cache_give_back(HEARTH_CACHE_LOCK, (hearth_str){lock->name, lock->length}, lock->token);
		}
		pefree(lock, 1);
		/* Another task may have run meanwhile and changed the list. */
		at = &held;
	}
}

void hearth_cache_locks_forget(const hearth_request_state *request)
{
	for (held_lock *lock = held; lock; lock = lock->next) {
		if (lock->request == request) {
			lock->request = NULL;
		}
	}
}

/* True if the caller still held it. Another task may use the object while this one waits for the second tier. */
static bool give_back(lock_object *self)
{
	zend_string *name = self->name;
	bool was_held;

	if (!name) {
		return false;
	}
	self->name = NULL;
	was_held = hearth_on_cache_give_back(HEARTH_CACHE_LOCK, text_of(name), self->token) == HEARTH_CACHE_YES;
	forget_held(name, self->token);
	zend_string_release(name);
	return was_held;
}

static void free_lock(zend_object *object)
{
	lock_object *self = lock_of(object);

	/* First, because giving back may wait: a weak reference would give the object to another task. */
	zend_object_std_dtor(object);
	if (!self->outlives_object && self->process == hearth_process_id()) {
		give_back(self);
	} else if (self->name) {
		forget_held(self->name, self->token);
		zend_string_release(self->name);
	}
}

/* The time must be limited: the holder of a lock may die. */
static bool positive(double seconds, uint32_t argument, int64_t *out)
{
	if (zend_isnan(seconds) || !hearth_cache_time(seconds, false, argument, out) || *out <= 0) {
		zend_argument_value_error(argument, "must be a number of seconds greater than 0 and less than 3e9");
		return false;
	}
	return true;
}

/* Returns YES, or the reason why not; an exception may be pending. */
static int take(hearth_str name, hearth_str owner, int64_t time, double wait, uint64_t *token)
{
	double until = hearth_monotonic() + wait;
	useconds_t pause = FIRST_WAIT;

	for (;;) {
		int outcome = hearth_on_cache_claim(HEARTH_CACHE_LOCK, name, owner, (uint64_t) time, token);
		double left = until - hearth_monotonic();

		if (outcome != HEARTH_CACHE_NO || !(left > 0)) {
			return outcome;
		}
		usleep((useconds_t) MIN(pause, left * 1e6 + 1));
		pause = MIN(pause * 2, LONGEST_WAIT);
		hearth_bail_out_if_fatal();
		if (EG(exception)) {
			return HEARTH_CACHE_NO;
		}
	}
}

static void make_lock(zval *out, const hearth_cache_key *key, uint64_t token, bool outlives_object)
{
	lock_object *lock;

	object_init_ex(out, lock_ce);
	lock = lock_of(Z_OBJ_P(out));
	lock->name = zend_string_init(key->ptr, key->len, 0);
	lock->token = token;
	lock->process = hearth_process_id();
	lock->outlives_object = outlives_object;
	if (!outlives_object) {
		note_held(lock);
	}
}

/* An empty name stands for no owner, so it is refused. */
static bool owner_of(zend_string *owner, uint32_t argument, hearth_str *out)
{
	*out = owner ? (hearth_str){ZSTR_VAL(owner), ZSTR_LEN(owner)} : (hearth_str){"", 0};
	if (owner && ZSTR_LEN(owner) == 0) {
		zend_argument_value_error(argument, "must not be empty");
		return false;
	}
	return true;
}

ZEND_METHOD(Hearth_Cache, lock)
{
	hearth_cache_key key;
	zend_string *name, *owner = NULL;
	hearth_str owner_name;
	double ttl, wait = 0;
	int64_t time;
	uint64_t token = 0;

	ZEND_PARSE_PARAMETERS_START(2, 4)
		Z_PARAM_STR(name)
		Z_PARAM_DOUBLE(ttl)
		Z_PARAM_OPTIONAL
		Z_PARAM_DOUBLE(wait)
		Z_PARAM_STR_OR_NULL(owner)
	ZEND_PARSE_PARAMETERS_END();
	if (hearth_cache_key_of(hearth_cache_object_of(Z_OBJ_P(ZEND_THIS)), name, 1, &key) && positive(ttl, 2, &time)
			&& owner_of(owner, 4, &owner_name)) {
		int outcome = take((hearth_str){key.ptr, key.len}, owner_name, time, wait, &token);

		if (!hearth_cache_is_refused(outcome, "The lock could not be taken") && hearth_cache_done(outcome, 0)) {
			make_lock(return_value, &key, token, owner != NULL);
		}
	}
}

ZEND_METHOD(Hearth_Cache, heldLock)
{
	zend_string *name, *owner = NULL;
	hearth_cache_key key;
	hearth_str owner_name;
	uint64_t token = 0;

	ZEND_PARSE_PARAMETERS_START(1, 2)
		Z_PARAM_STR(name)
		Z_PARAM_OPTIONAL
		Z_PARAM_STR_OR_NULL(owner)
	ZEND_PARSE_PARAMETERS_END();
	if (hearth_cache_key_of(hearth_cache_object_of(Z_OBJ_P(ZEND_THIS)), name, 1, &key) && owner_of(owner, 2, &owner_name)
			&& hearth_cache_done(hearth_on_cache_token(HEARTH_CACHE_LOCK, (hearth_str){key.ptr, key.len}, owner_name, &token), 0)) {
		make_lock(return_value, &key, token, true);
	}
}

ZEND_METHOD(Hearth_CacheLock, __construct) { }

ZEND_METHOD(Hearth_CacheLock, token)
{
	ZEND_PARSE_PARAMETERS_NONE();
	RETURN_LONG((zend_long) SELF->token);
}

ZEND_METHOD(Hearth_CacheLock, isHeld)
{
	zend_string *name = SELF->name;

	ZEND_PARSE_PARAMETERS_NONE();
	RETVAL_FALSE;
	if (name) {
		/* Another task may give the lock back while this one waits. */
		zend_string_addref(name);
		RETVAL_BOOL(hearth_on_cache_holds(HEARTH_CACHE_LOCK, text_of(name), SELF->token) == HEARTH_CACHE_YES);
		zend_string_release(name);
	}
}

ZEND_METHOD(Hearth_CacheLock, extend)
{
	zend_string *name = SELF->name;
	double ttl;
	int64_t time;

	ZEND_PARSE_PARAMETERS_START(1, 1)
		Z_PARAM_DOUBLE(ttl)
	ZEND_PARSE_PARAMETERS_END();
	if (!positive(ttl, 1, &time)) {
		return;
	}
	RETVAL_FALSE;
	if (name) {
		/* As in isHeld(). */
		zend_string_addref(name);
		RETVAL_BOOL(hearth_on_cache_extend(HEARTH_CACHE_LOCK, text_of(name), SELF->token, (uint64_t) time) == HEARTH_CACHE_YES);
		zend_string_release(name);
	}
}

ZEND_METHOD(Hearth_CacheLock, release)
{
	ZEND_PARSE_PARAMETERS_NONE();
	RETURN_BOOL(give_back(SELF));
}

/* ---- registration ---- */

void hearth_register_cache_lock(void)
{
	lock_ce = hearth_register_class("Hearth\\CacheLock", class_Hearth_CacheLock_methods, create, &handlers, XtOffsetOf(lock_object, std));
	handlers.free_obj = free_lock;
}
