/*
 * The class Hearth\Session: the same sessions for code that calls a save handler itself, such as a framework. A session that
 * was read is locked until it is written, destroyed or closed, or until the request ends.
 */
#include "session/session.h"
#include "session/class_arginfo.h"

extern php_ps_globals ps_globals __attribute__((weak));
extern zend_class_entry *php_session_iface_entry __attribute__((weak));
extern zend_class_entry *php_session_id_iface_entry __attribute__((weak));
extern zend_class_entry *php_session_update_timestamp_iface_entry __attribute__((weak));

typedef struct {
	zend_string *path;               /* NULL: set neither by the constructor nor by open() outside of requests */
	bool fixed;                      /* the constructor set the path */
	zend_long lifetime;              /* 0: session.gc_maxlifetime */
	zend_object std;
} session_object;

static zend_class_entry *session_ce;
static zend_object_handlers handlers;

static session_object *object_of(zend_object *object)
{
	return (session_object *) ((char *) object - XtOffsetOf(session_object, std));
}

#define SELF object_of(Z_OBJ_P(ZEND_THIS))

static zend_object *create(zend_class_entry *ce)
{
	return hearth_object_new(ce, &handlers, sizeof(session_object));
}

static void set_path(session_object *self, zend_string *path)
{
	if (self->path) {
		zend_string_release(self->path);
	}
	self->path = path ? zend_string_copy(path) : NULL;
}

/* Several requests may use one object; each has sessions of its own. */
static const void *opener(const session_object *self)
{
	const hearth_request_state *request = hearth_current_request();

	return request ? (const void *) request : (const void *) self;
}

static void free_session(zend_object *object)
{
	session_object *self = object_of(object);

	/* Another object may get the same address. */
	hearth_session_locks_release(self);
	hearth_session_paths_forget(self);
	set_path(self, NULL);
	zend_object_std_dtor(object);
}

static hearth_str path_of(const session_object *self)
{
	hearth_str path;

	if (!self->fixed && hearth_session_path_of(self, &path)) {
		return path;
	}
	return self->path ? (hearth_str){ZSTR_VAL(self->path), ZSTR_LEN(self->path)} : (hearth_str){"", 0};
}

static zend_long lifetime_of(const session_object *self)
{
	return self->lifetime ? self->lifetime : ps_globals.gc_maxlifetime;
}

static bool check_path(zend_string *path, uint32_t argument)
{
	if (ZSTR_LEN(path) > HEARTH_SESSION_MAX_PATH) {
		zend_argument_value_error(argument, "has %zu bytes, more than %d", ZSTR_LEN(path), HEARTH_SESSION_MAX_PATH);
		return false;
	}
	return true;
}

ZEND_METHOD(Hearth_Session, __construct)
{
	zend_string *path = NULL;
	zend_long lifetime = 0;
	bool none = true;

	ZEND_PARSE_PARAMETERS_START(0, 2)
		Z_PARAM_OPTIONAL
		Z_PARAM_PATH_STR(path)
		Z_PARAM_LONG_OR_NULL(lifetime, none)
	ZEND_PARSE_PARAMETERS_END();
	if (path && !check_path(path, 1)) {
		return;
	}
	if (!none && lifetime <= 0) {
		zend_argument_value_error(2, "must be a number of seconds greater than 0, or null for session.gc_maxlifetime");
		return;
	}
	SELF->fixed = path && ZSTR_LEN(path) > 0;
	set_path(SELF, path);
	SELF->lifetime = lifetime;
}

ZEND_METHOD(Hearth_Session, open)
{
	zend_string *path, *name;

	ZEND_PARSE_PARAMETERS_START(2, 2)
		Z_PARAM_PATH_STR(path)
		Z_PARAM_STR(name)
	ZEND_PARSE_PARAMETERS_END();
	(void) name;
	if (!SELF->fixed) {
		if (!check_path(path, 1)) {
			return;
		}
		hearth_current_request() ? hearth_session_path_set(SELF, path) : set_path(SELF, path);
	}
	RETURN_TRUE;
}

ZEND_METHOD(Hearth_Session, close)
{
	ZEND_PARSE_PARAMETERS_NONE();
	hearth_session_locks_release(opener(SELF));
	RETURN_TRUE;
}

ZEND_METHOD(Hearth_Session, read)
{
	char buffer[HEARTH_SESSION_MAX_KEY];
	zend_string *id, *data;
	hearth_str key;

	ZEND_PARSE_PARAMETERS_START(1, 1)
		Z_PARAM_STR(id)
	ZEND_PARSE_PARAMETERS_END();
	if (!hearth_session_key(path_of(SELF), id, buffer, &key) || !hearth_session_read(opener(SELF), key, lifetime_of(SELF), &data)) {
		RETURN_FALSE;
	}
	RETURN_STR(data);
}

static void put(INTERNAL_FUNCTION_PARAMETERS, bool (*put_data)(const void *, hearth_str, zend_string *, zend_long))
{
	char buffer[HEARTH_SESSION_MAX_KEY];
	zend_string *id, *data;
	hearth_str key;
	bool is_done;

	ZEND_PARSE_PARAMETERS_START(2, 2)
		Z_PARAM_STR(id)
		Z_PARAM_STR(data)
	ZEND_PARSE_PARAMETERS_END();
	is_done = hearth_session_key(path_of(SELF), id, buffer, &key) && put_data(opener(SELF), key, data, lifetime_of(SELF));
	hearth_session_locks_release(opener(SELF));
	RETURN_BOOL(is_done);
}

ZEND_METHOD(Hearth_Session, write)
{
	put(INTERNAL_FUNCTION_PARAM_PASSTHRU, hearth_session_write);
}

ZEND_METHOD(Hearth_Session, updateTimestamp)
{
	put(INTERNAL_FUNCTION_PARAM_PASSTHRU, hearth_session_touch);
}

ZEND_METHOD(Hearth_Session, destroy)
{
	char buffer[HEARTH_SESSION_MAX_KEY];
	hearth_session_lock *lock;
	zend_string *id;
	hearth_str key;

	ZEND_PARSE_PARAMETERS_START(1, 1)
		Z_PARAM_STR(id)
	ZEND_PARSE_PARAMETERS_END();
	if (!hearth_session_key(path_of(SELF), id, buffer, &key) || !hearth_session_destroy(opener(SELF), key)) {
		RETURN_FALSE;
	}
	lock = hearth_session_lock_find(opener(SELF), key);
	if (lock) {
		hearth_session_lock_release(lock);
	}
	RETURN_TRUE;
}

ZEND_METHOD(Hearth_Session, gc)
{
	zend_long lifetime, count;

	ZEND_PARSE_PARAMETERS_START(1, 1)
		Z_PARAM_LONG(lifetime)
	ZEND_PARSE_PARAMETERS_END();
	(void) lifetime;
	count = hearth_session_collect();
	if (count < 0) {
		RETURN_FALSE;
	}
	RETURN_LONG(count);
}

ZEND_METHOD(Hearth_Session, create_sid)
{
	void *none = NULL;
	zend_string *id;

	ZEND_PARSE_PARAMETERS_NONE();
	id = hearth_session_new_id(path_of(SELF), &none);
	if (!id) {
		if (!EG(exception)) {
			zend_throw_error(NULL, "No new session id could be made");
		}
		return;
	}
	RETURN_STR(id);
}

ZEND_METHOD(Hearth_Session, validateId)
{
	char buffer[HEARTH_SESSION_MAX_KEY];
	zend_string *id;
	hearth_str key;

	ZEND_PARSE_PARAMETERS_START(1, 1)
		Z_PARAM_STR(id)
	ZEND_PARSE_PARAMETERS_END();
	RETURN_BOOL(hearth_session_valid_key(path_of(SELF), id, buffer, &key) && hearth_session_exists(key));
}

/* ---- registration ---- */

void hearth_register_session_class(void)
{
	if (!&ps_globals) {
		return;
	}
	session_ce = hearth_register_class("Hearth\\Session", class_Hearth_Session_methods, create, &handlers, XtOffsetOf(session_object, std));
	handlers.free_obj = free_session;
	zend_class_implements(session_ce, 3, php_session_iface_entry, php_session_id_iface_entry, php_session_update_timestamp_iface_entry);
}
