/*
 * session.save_handler = hearth: PHP's own session functions, with the cache in place of files. As with files, a session is
 * locked from its read to its close, and a session that was opened exists even if nothing is written; session.save_path
 * separates the sessions of one server.
 */
#include "session/session.h"

/* Debian's libphp contains the session extension; in a build without it these are null. */
extern php_ps_globals ps_globals __attribute__((weak));
extern zend_result php_session_register_module(const ps_module *module) __attribute__((weak));

PS_FUNCS_UPDATE_TIMESTAMP(hearth);

typedef struct {
	bool refused;                    /* its lock was not obtained while its id was validated: a read does not wait again */
	size_t length;
	char path[];
} opened;

static hearth_str path_of(const opened *self)
{
	return (hearth_str){self->path, self->length};
}

/* Makes the key in the cache for the session id `key`. */
static bool find_key(opened *self, zend_string *key, char buffer[HEARTH_SESSION_MAX_KEY], hearth_str *out)
{
	return self && hearth_session_key(path_of(self), key, buffer, out);
}

PS_OPEN_FUNC(hearth)
{
	size_t length = strlen(save_path);
	opened *self = PS_GET_MOD_DATA();

	(void) session_name;
	if (length > HEARTH_SESSION_MAX_PATH) {
		php_error_docref(NULL, E_WARNING, "session.save_path has %zu bytes, more than %d", length, HEARTH_SESSION_MAX_PATH);
		return FAILURE;
	}
	if (self && self->length == length && memcmp(self->path, save_path, length) == 0) {
		/* session_reset(): the session stays locked. */
		return SUCCESS;
	}
	if (self) {
		ps_close_hearth(mod_data);
	}
	self = emalloc(sizeof *self + length + 1);
	self->refused = false;
	self->length = length;
	memcpy(self->path, save_path, length + 1);
	PS_SET_MOD_DATA(self);
	return SUCCESS;
}

PS_CLOSE_FUNC(hearth)
{
	opened *self = PS_GET_MOD_DATA();

	if (self) {
		hearth_session_locks_release(self);
		efree(self);
		PS_SET_MOD_DATA(NULL);
	}
	return SUCCESS;
}

/* A request has one session at a time: releases those of other ids. */
static void release_others(const opened *self, hearth_str key)
{
	if (!hearth_session_lock_find(self, key)) {
		hearth_session_locks_release(self);
	}
}

PS_READ_FUNC(hearth)
{
	opened *self = PS_GET_MOD_DATA();
	char buffer[HEARTH_SESSION_MAX_KEY];
	hearth_str full;

	if (!find_key(self, key, buffer, &full) || self->refused) {
		return FAILURE;
	}
	release_others(self, full);
	return hearth_session_read(self, full, maxlifetime, val) ? SUCCESS : FAILURE;
}

PS_WRITE_FUNC(hearth)
{
	opened *self = PS_GET_MOD_DATA();
	char buffer[HEARTH_SESSION_MAX_KEY];
	hearth_str full;

	return find_key(self, key, buffer, &full) && hearth_session_write(self, full, val, maxlifetime) ? SUCCESS : FAILURE;
}

PS_UPDATE_TIMESTAMP_FUNC(hearth)
{
	opened *self = PS_GET_MOD_DATA();
	char buffer[HEARTH_SESSION_MAX_KEY];
	hearth_str full;

	return find_key(self, key, buffer, &full) && hearth_session_touch(self, full, val, maxlifetime) ? SUCCESS : FAILURE;
}

PS_DESTROY_FUNC(hearth)
{
	opened *self = PS_GET_MOD_DATA();
	char buffer[HEARTH_SESSION_MAX_KEY];
	hearth_str full;

	return find_key(self, key, buffer, &full) && hearth_session_destroy(self, full) ? SUCCESS : FAILURE;
}

PS_GC_FUNC(hearth)
{
	(void) mod_data;
	(void) maxlifetime;
	*nrdels = hearth_session_collect();
	return *nrdels;
}

PS_CREATE_SID_FUNC(hearth)
{
	opened *self = PS_GET_MOD_DATA();

	return hearth_session_new_id(self ? path_of(self) : (hearth_str){"", 0}, mod_data);
}

/*
 * Another task of this request may have closed the session while this one waited for its lock in session_create_id(), which
 * may run inside other calls on the session: `self` is freed then.
 */
static bool is_open(const opened *self, void **mod_data)
{
	if (EXPECTED(PS_GET_MOD_DATA() == self)) {
		return true;
	}
	hearth_session_locks_release(self);
	return false;
}

/*
 * With strict mode an id is validated before its session is read. The session is locked from here on: if it were destroyed
 * in between, as by a logout, the id would be used for a new one.
 */
PS_VALIDATE_SID_FUNC(hearth)
{
	opened *self = PS_GET_MOD_DATA();
	char buffer[HEARTH_SESSION_MAX_KEY];
	hearth_str full;

	if (!self || !hearth_session_valid_key(path_of(self), key, buffer, &full) || !hearth_session_exists(full)) {
		return FAILURE;
	}
	if (ps_globals.session_status == php_session_active && hearth_session_lock_any(self)) {
		/* session_create_id() and session_regenerate_id() only ask whether such a session exists. */
		return SUCCESS;
	}
	if (!hearth_session_lock_take(self, full)) {
		if (is_open(self, mod_data)) {
			self->refused = true;
		}
		return SUCCESS;
	}
	if (is_open(self, mod_data) && hearth_session_exists(full)) {
		return SUCCESS;
	}
	hearth_session_locks_release(self);
	return FAILURE;
}

static const ps_module handler = { PS_MOD_UPDATE_TIMESTAMP(hearth) };

void hearth_register_session_handler(void)
{
	if (&ps_globals) {
		php_session_register_module(&handler);
	}
}
