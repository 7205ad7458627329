/* The class Hearth\Cache. It is native in all modes: classic sites do not load the PHP library for it. */
#include "cache/cache.h"
#include "cache/methods_arginfo.h"

zend_class_entry *hearth_cache_ce;
static zend_object_handlers handlers;

hearth_cache_object *hearth_cache_object_of(zend_object *object)
{
	return (hearth_cache_object *) ((char *) object - XtOffsetOf(hearth_cache_object, std));
}

#define SELF hearth_cache_object_of(Z_OBJ_P(ZEND_THIS))

static zend_object *create(zend_class_entry *ce)
{
	return hearth_object_new(ce, &handlers, sizeof(hearth_cache_object));
}

static void free_cache(zend_object *object)
{
	hearth_cache_object *self = hearth_cache_object_of(object);

	if (self->prefix) {
		zend_string_release(self->prefix);
	}
	zend_object_std_dtor(object);
}

static bool enter_namespace(hearth_cache_object *self, const hearth_cache_object *outer, zend_string *name)
{
	hearth_cache_key key;

	if (!hearth_cache_key_of(outer, name, 1, &key)) {
		return false;
	}
	if (key.len > HEARTH_CACHE_MAX_KEY / 2) {
		zend_argument_value_error(1, "leaves too little room for keys: namespaces have %d bytes at most", HEARTH_CACHE_MAX_KEY / 2);
		return false;
	}
	self->prefix = zend_string_alloc(key.len + 1, 0);
	memcpy(ZSTR_VAL(self->prefix), key.ptr, key.len);
	ZSTR_VAL(self->prefix)[key.len] = ZSTR_VAL(self->prefix)[key.len + 1] = '\0';
	return true;
}

ZEND_METHOD(Hearth_Cache, __construct)
{
	static const hearth_cache_object whole;
	zend_string *name = NULL;

	ZEND_PARSE_PARAMETERS_START(0, 1)
		Z_PARAM_OPTIONAL
		Z_PARAM_STR_OR_NULL(name)
	ZEND_PARSE_PARAMETERS_END();
	if (name && !SELF->prefix) {
		enter_namespace(SELF, &whole, name);
	}
}

ZEND_METHOD(Hearth_Cache, namespace)
{
	zend_string *name;

	ZEND_PARSE_PARAMETERS_START(1, 1)
		Z_PARAM_STR(name)
	ZEND_PARSE_PARAMETERS_END();
	object_init_ex(return_value, hearth_cache_ce);
	enter_namespace(hearth_cache_object_of(Z_OBJ_P(return_value)), SELF, name);
}

/* ---- reading ---- */

ZEND_METHOD(Hearth_Cache, get)
{
	zval *otherwise = NULL;
	zend_string *key;
	uint64_t stale;

	ZEND_PARSE_PARAMETERS_START(1, 2)
		Z_PARAM_STR(key)
		Z_PARAM_OPTIONAL
		Z_PARAM_ZVAL(otherwise)
	ZEND_PARSE_PARAMETERS_END();
	if (!hearth_cache_fetch(SELF, key, return_value, &stale) && !EG(exception) && otherwise) {
		RETURN_COPY_DEREF(otherwise);
	}
}

ZEND_METHOD(Hearth_Cache, has)
{
	zend_string *key;
	uint64_t stale;
	zval value;

	ZEND_PARSE_PARAMETERS_START(1, 1)
		Z_PARAM_STR(key)
	ZEND_PARSE_PARAMETERS_END();
	if (!hearth_cache_fetch(SELF, key, &value, &stale)) {
		RETURN_FALSE;
	}
	zval_ptr_dtor(&value);
	RETURN_TRUE;
}

/* ---- writing ---- */

static void write_one(INTERNAL_FUNCTION_PARAMETERS, int condition)
{
	HashTable *tags = NULL;
	zend_string *key;
	zval *value;
	double ttl = 0;
	bool forever = true;
	hearth_cache_terms terms;

	ZEND_PARSE_PARAMETERS_START(2, 4)
		Z_PARAM_STR(key)
		Z_PARAM_ZVAL(value)
		Z_PARAM_OPTIONAL
		Z_PARAM_DOUBLE_OR_NULL(ttl, forever)
		Z_PARAM_ARRAY_HT(tags)
	ZEND_PARSE_PARAMETERS_END();
	if (!hearth_cache_terms_of(SELF, ttl, forever, 3, tags, &terms)) {
		return;
	}
	RETVAL_BOOL(hearth_cache_write_value(SELF, key, value, &terms, condition));
	hearth_cache_terms_free(&terms);
}

ZEND_METHOD(Hearth_Cache, set)
{
	write_one(INTERNAL_FUNCTION_PARAM_PASSTHRU, HEARTH_CACHE_ALWAYS);
}

ZEND_METHOD(Hearth_Cache, add)
{
	write_one(INTERNAL_FUNCTION_PARAM_PASSTHRU, HEARTH_CACHE_IF_ABSENT);
}

ZEND_METHOD(Hearth_Cache, compareAndSwap)
{
	hearth_cache_encoded expected = {0}, encoded = {0};
	hearth_cache_write write;
	hearth_cache_key full;
	HashTable *tags = NULL;
	zend_string *key;
	zval *before, *value;
	double ttl = 0;
	bool forever = true;
	hearth_cache_terms terms;

	ZEND_PARSE_PARAMETERS_START(3, 5)
		Z_PARAM_STR(key)
		Z_PARAM_ZVAL(before)
		Z_PARAM_ZVAL(value)
		Z_PARAM_OPTIONAL
		Z_PARAM_DOUBLE_OR_NULL(ttl, forever)
		Z_PARAM_ARRAY_HT(tags)
	ZEND_PARSE_PARAMETERS_END();
	if (!hearth_cache_key_of(SELF, key, 1, &full) || !hearth_cache_terms_of(SELF, ttl, forever, 4, tags, &terms)) {
		return;
	}
	if (terms.ttl < 0) {
		zend_argument_value_error(4, "must be greater than 0, or null for ever");
	} else if (hearth_cache_encode(before, 2, &expected) && hearth_cache_encode(value, 3, &encoded)) {
		write = hearth_cache_write_of(&full, &terms);
		write.encoding = encoded.encoding;
		write.number = encoded.number;
		write.bytes = hearth_cache_bytes(&encoded);
		write.condition = HEARTH_CACHE_IF_EQUAL;
		write.expected_encoding = expected.encoding;
		write.expected_number = expected.number;
		write.expected = hearth_cache_bytes(&expected);
		RETVAL_BOOL(hearth_cache_done(hearth_on_cache_write(&write), write.bytes.len));
		hearth_cache_encoded_free(&encoded);
	}
	hearth_cache_encoded_free(&expected);
	hearth_cache_terms_free(&terms);
}

static bool is_there(hearth_str key)
{
	hearth_cache_found found;

	return hearth_on_cache_read(key, &found) == HEARTH_CACHE_YES;
}

/* Adds `write->number` to the entry. Returns a HEARTH_CACHE_* outcome; `*sum` receives the result. */
static int add_to(hearth_cache_write *write, const hearth_cache_terms *terms, int64_t *sum)
{
	if (terms->ttl < 0 && !is_there(write->key)) {
		/* A new entry with a negative ttl is not kept. */
		*sum = write->number;
		return HEARTH_CACHE_YES;
	}
	write->ttl = (uint64_t) MAX(terms->ttl, 0);
	return hearth_on_cache_increment(write, sum);
}

static void count(INTERNAL_FUNCTION_PARAMETERS, bool down)
{
	HashTable *tags = NULL;
	hearth_cache_write write;
	hearth_cache_key full;
	zend_string *key;
	zend_long by = 1;
	int64_t sum = 0;
	double ttl = 0;
	bool forever = true;
	hearth_cache_terms terms;
	int outcome;

	ZEND_PARSE_PARAMETERS_START(1, 4)
		Z_PARAM_STR(key)
		Z_PARAM_OPTIONAL
		Z_PARAM_LONG(by)
		Z_PARAM_DOUBLE_OR_NULL(ttl, forever)
		Z_PARAM_ARRAY_HT(tags)
	ZEND_PARSE_PARAMETERS_END();
	if (down && by == ZEND_LONG_MIN) {
		zend_argument_value_error(2, "must be greater than PHP_INT_MIN");
		return;
	}
	if (!hearth_cache_key_of(SELF, key, 1, &full) || !hearth_cache_terms_of(SELF, ttl, forever, 3, tags, &terms)) {
		return;
	}
	write = hearth_cache_write_of(&full, &terms);
	write.number = down ? -by : by;
	outcome = add_to(&write, &terms, &sum);
	hearth_cache_terms_free(&terms);
	if (!hearth_cache_is_refused(outcome, "The number could not be written") && hearth_cache_done(outcome, 0)) {
		RETURN_LONG((zend_long) sum);
	}
}

ZEND_METHOD(Hearth_Cache, increment) { count(INTERNAL_FUNCTION_PARAM_PASSTHRU, false); }
ZEND_METHOD(Hearth_Cache, decrement) { count(INTERNAL_FUNCTION_PARAM_PASSTHRU, true); }

/* ---- deleting ---- */

ZEND_METHOD(Hearth_Cache, delete)
{
	hearth_cache_key full;
	zend_string *key;

	ZEND_PARSE_PARAMETERS_START(1, 1)
		Z_PARAM_STR(key)
	ZEND_PARSE_PARAMETERS_END();
	if (hearth_cache_key_of(SELF, key, 1, &full)) {
		RETURN_BOOL(hearth_cache_done(hearth_on_cache_delete((hearth_str){full.ptr, full.len}), 0));
	}
}

ZEND_METHOD(Hearth_Cache, deleteTag)
{
	hearth_cache_key full;
	zend_string *tag;

	ZEND_PARSE_PARAMETERS_START(1, 1)
		Z_PARAM_STR(tag)
	ZEND_PARSE_PARAMETERS_END();
	if (hearth_cache_key_of(SELF, tag, 1, &full)) {
		RETURN_BOOL(hearth_cache_done(hearth_on_cache_delete_tag((hearth_str){full.ptr, full.len}), 0));
	}
}

ZEND_METHOD(Hearth_Cache, clear)
{
	zend_string *prefix = SELF->prefix;
	int outcome;

	ZEND_PARSE_PARAMETERS_NONE();
	outcome = prefix ? hearth_on_cache_delete_tag((hearth_str){ZSTR_VAL(prefix), ZSTR_LEN(prefix)}) : hearth_on_cache_clear();
	hearth_cache_done(outcome, 0);
	RETURN_BOOL(outcome != HEARTH_CACHE_LOCK_TIMEOUT && !EG(exception));
}

ZEND_METHOD(Hearth_Cache, stats)
{
	hearth_cache_figure figures[32] = {0};
	size_t count;

	ZEND_PARSE_PARAMETERS_NONE();
	count = hearth_on_cache_stats(figures, sizeof figures / sizeof *figures);
	array_init_size(return_value, (uint32_t) count);
	for (size_t i = 0; i < count; i++) {
		add_assoc_long_ex(return_value, figures[i].name.ptr, figures[i].name.len, (zend_long) figures[i].value);
	}
}

/* ---- registration ---- */

void hearth_register_cache(void)
{
	hearth_cache_ce = hearth_register_class("Hearth\\Cache", class_Hearth_Cache_methods, create, &handlers, XtOffsetOf(hearth_cache_object, std));
	handlers.free_obj = free_cache;
	hearth_register_cache_lock();
	hearth_unserialize_hook();
}
