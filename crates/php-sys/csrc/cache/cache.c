/* Common parts of the methods of Hearth\Cache: keys, tags, times, reading. */
#include "cache/cache.h"
#include "task/no_suspend.h"

bool hearth_cache_done(int outcome, size_t size)
{
	/* The operation may have waited for the second tier, and been cancelled there. */
	hearth_bail_out_if_fatal();
	if (UNEXPECTED(EG(exception)) && outcome != HEARTH_CACHE_YES) {
		return false;
	}
	switch (outcome) {
		case HEARTH_CACHE_TOO_LARGE:
			zend_value_error("The value takes %zu bytes, and an entry of the cache at most %zu, half of cache.size: raise cache.size, "
				"or store a smaller value", size, hearth_on_cache_largest());
			break;
		case HEARTH_CACHE_NOT_INT:
			zend_type_error("The value of this key is not an int, so nothing can be added to it: delete it, or use another key");
			break;
		case HEARTH_CACHE_OVERFLOW:
			zend_throw_error(zend_ce_arithmetic_error, "The sum is not an int: the number is left as it was");
			break;
		case HEARTH_CACHE_BAD_KEY:
			zend_value_error("The key, with its namespace, has more than %d bytes", HEARTH_CACHE_MAX_KEY);
			break;
		case HEARTH_CACHE_NONE:
			zend_throw_error(NULL, "There is no cache: cache.size is 0");
			break;
		case HEARTH_CACHE_AWAY:
			zend_throw_error(NULL, "Redis is away (cache.redis), and only Redis knows which process holds a lock: try again");
			break;
		case HEARTH_CACHE_DENIED:
			zend_throw_error(NULL, "Redis refused the operation (cache.redis): the log of the server says why");
			break;
		default:
			break;
	}
	return outcome == HEARTH_CACHE_YES;
}

bool hearth_cache_is_refused(int outcome, const char *what)
{
	if (outcome != HEARTH_CACHE_FULL && outcome != HEARTH_CACHE_LOCK_TIMEOUT) {
		return false;
	}
	zend_throw_error(NULL, "%s: %s", what, outcome == HEARTH_CACHE_FULL
		? "the cache is full of locks" : "another process has held the cache's lock for 5 s");
	return true;
}

/* NUL separates namespaces and keys. `in_list`: the argument is an array with the name in it. */
static bool check_name(zend_string *name, size_t more, uint32_t argument, bool in_list)
{
	if (ZSTR_LEN(name) == 0) {
		zend_argument_value_error(argument, in_list ? "must not contain an empty name" : "must not be empty");
	} else if (memchr(ZSTR_VAL(name), '\0', ZSTR_LEN(name))) {
		zend_argument_value_error(argument, in_list ? "must not contain a name with a NUL byte" : "must not contain a NUL byte");
	} else if (ZSTR_LEN(name) + more > HEARTH_CACHE_MAX_KEY) {
		zend_argument_value_error(argument, "%s %zu bytes with its namespace, more than %d", in_list ? "contains a name that has" : "has",
			ZSTR_LEN(name) + more, HEARTH_CACHE_MAX_KEY);
	} else {
		return true;
	}
	return false;
}

static bool key_of(const hearth_cache_object *self, zend_string *key, uint32_t argument, bool in_list, hearth_cache_key *out)
{
	size_t prefix = self->prefix ? ZSTR_LEN(self->prefix) : 0;

	if (!check_name(key, prefix, argument, in_list)) {
		return false;
	}
	out->ptr = ZSTR_VAL(key);
	out->len = prefix + ZSTR_LEN(key);
	if (prefix) {
		memcpy(out->buffer, ZSTR_VAL(self->prefix), prefix);
		memcpy(out->buffer + prefix, ZSTR_VAL(key), ZSTR_LEN(key));
		out->ptr = out->buffer;
	}
	return true;
}

bool hearth_cache_key_of(const hearth_cache_object *self, zend_string *key, uint32_t argument, hearth_cache_key *out)
{
	return key_of(self, key, argument, false, out);
}

bool hearth_cache_key_in(const hearth_cache_object *self, zend_string *key, uint32_t argument, hearth_cache_key *out)
{
	return key_of(self, key, argument, true, out);
}

bool hearth_cache_time(double seconds, bool none, uint32_t argument, int64_t *out)
{
	if (none) {
		*out = 0;
	} else if (zend_isnan(seconds)) {
		zend_argument_value_error(argument, "must be a number of seconds, or null for ever");
		return false;
	} else if (seconds <= 0) {
		*out = -1;
	} else {
		/* More than 3e9 seconds, about a hundred years, is stored as no expiry. */
		*out = seconds > 3e9 ? 0 : MAX(1, (int64_t) (seconds * 1e6));
	}
	return true;
}

static bool add_tag(hearth_cache_tags *tags, size_t *starts, const char *text, size_t length, uint32_t argument)
{
	if (tags->count == HEARTH_CACHE_MAX_TAGS) {
		zend_argument_value_error(argument, "has more than %d tags, with one for each namespace", HEARTH_CACHE_MAX_TAGS);
		return false;
	}
	starts[tags->count] = tags->text.s ? ZSTR_LEN(tags->text.s) : 0;
	smart_str_appendl(&tags->text, text, length);
	tags->list[tags->count++].len = length;
	return true;
}

/* An entry gets a tag for each namespace that it is in: the prefix up to the end of that namespace's part. */
static bool add_namespaces(const hearth_cache_object *self, hearth_cache_tags *tags, size_t *starts, uint32_t argument)
{
	const char *start = self->prefix ? ZSTR_VAL(self->prefix) : NULL, *end = start;

	while (start && (end = memchr(end, '\0', ZSTR_VAL(self->prefix) + ZSTR_LEN(self->prefix) - end))) {
		end++;
		if (!add_tag(tags, starts, start, (size_t) (end - start), argument)) {
			return false;
		}
	}
	return true;
}

static bool add_names(const hearth_cache_object *self, HashTable *names, hearth_cache_tags *tags, size_t *starts, uint32_t argument)
{
	zval *name;

	ZEND_HASH_FOREACH_VAL(names, name) {
		hearth_cache_key key;

		ZVAL_DEREF(name);
		if (Z_TYPE_P(name) != IS_STRING) {
			zend_argument_type_error(argument, "must be a list of strings, %s given in it", zend_zval_type_name(name));
			return false;
		}
		if (!hearth_cache_key_in(self, Z_STR_P(name), argument, &key) || !add_tag(tags, starts, key.ptr, key.len, argument)) {
			return false;
		}
	} ZEND_HASH_FOREACH_END();
	return true;
}

bool hearth_cache_tags_of(const hearth_cache_object *self, HashTable *names, uint32_t argument, hearth_cache_tags *out)
{
	size_t starts[HEARTH_CACHE_MAX_TAGS];

	out->count = 0;
	out->text = (smart_str){0};
	if (!add_namespaces(self, out, starts, argument) || (names && !add_names(self, names, out, starts, argument))) {
		smart_str_free(&out->text);
		return false;
	}
	for (size_t i = 0; i < out->count; i++) {
		out->list[i].ptr = ZSTR_VAL(out->text.s) + starts[i];
	}
	return true;
}

zend_string *hearth_cache_key_shown(hearth_str key)
{
	smart_str shown = {0};

	for (size_t i = 0; i < key.len; i++) {
		if (key.ptr[i] == '\0') {
			smart_str_appends(&shown, ": ");
		} else {
			smart_str_appendc(&shown, key.ptr[i]);
		}
	}
	return smart_str_extract(&shown);
}

bool hearth_cache_forget(hearth_str key, const hearth_cache_validator *own, zend_string *why)
{
	if (!EG(exception) && (own->sequence == 0 || hearth_on_cache_is_current(own, 1, 0))) {
		zend_string *shown = hearth_cache_key_shown(key);

		hearth_log(HEARTH_LOG_WARNING, "a value of the cache cannot be read any more and was deleted: its class is gone or has "
			"changed key=%s%s%s", ZSTR_VAL(shown), why ? " error=" : "", why ? ZSTR_VAL(why) : "");
		zend_string_release(shown);
		hearth_on_cache_delete(key);
	}
	if (why) {
		zend_string_release(why);
	}
	return false;
}

static bool fetch_shared(hearth_str key, zval *out, uint64_t *stale)
{
	hearth_cache_found found;
	zend_string *bytes, *why = NULL;
	bool is_value;

	if (!hearth_cache_done(hearth_on_cache_read(key, &found), 0)) {
		return false;
	}
	*stale = found.stale;
	if (found.encoding != HEARTH_CACHE_SERIALIZED) {
		is_value = hearth_cache_copy_make(key, &found, out);
		hearth_cache_copies_were_read();
		return is_value || hearth_cache_forget(key, &found.own, NULL);
	}
	bytes = zend_string_init(found.bytes.ptr, found.bytes.len, 0);
	is_value = hearth_cache_unserialize(bytes, out, &why);
	zend_string_release(bytes);
	return is_value || hearth_cache_forget(key, &found.own, why);
}

bool hearth_cache_fetch(const hearth_cache_object *self, zend_string *key, zval *out, uint64_t *stale)
{
	hearth_cache_key full;

	if (EXPECTED(hearth_cache_copy_get(self, key, out, stale))) {
		return true;
	}
	return hearth_cache_key_of(self, key, 1, &full) && fetch_shared((hearth_str){full.ptr, full.len}, out, stale);
}
