/* The functions of APCu that write and delete. */
#include "cache/apcu.h"

bool hearth_apcu_refuses(zval *value)
{
	ZVAL_DEREF(value);
	if (Z_TYPE_P(value) != IS_RESOURCE) {
		return false;
	}
	php_error_docref(NULL, E_WARNING, "Cannot store resources in apcu cache");
	return true;
}

/* Returns false where the cache throws a ValueError, as APCu does for a too large value; other exceptions stay. */
static bool store(zend_string *name, zval *value, const hearth_cache_terms *terms, int condition)
{
	zend_string *key;
	bool done;

	if (hearth_apcu_refuses(value)) {
		return false;
	}
	if (terms->ttl < 0 && condition == HEARTH_CACHE_IF_ABSENT) {
		/* A negative ttl: nothing is stored. */
		return !hearth_apcu_has(name);
	}
	key = hearth_apcu_key(name);
	done = hearth_cache_write_value(&hearth_apcu, key, value, terms, condition);
	zend_string_release(key);
	if (EG(exception) && EG(exception)->ce == zend_ce_value_error) {
		zend_clear_exception();
	}
	return done;
}

static void store_helper(INTERNAL_FUNCTION_PARAMETERS, int condition)
{
	zval *key, *value = NULL;
	zend_long ttl = 0;
	hearth_cache_terms terms;

	ZEND_PARSE_PARAMETERS_START(1, 3)
		Z_PARAM_ZVAL(key)
		Z_PARAM_OPTIONAL
		Z_PARAM_ZVAL(value)
		Z_PARAM_LONG(ttl)
	ZEND_PARSE_PARAMETERS_END();
	if (!hearth_cache_terms_of(&hearth_apcu, (double) ttl, ttl == 0, 3, NULL, &terms)) {
		return;
	}
	if (Z_TYPE_P(key) == IS_ARRAY) {
		hearth_apcu_store_many(Z_ARRVAL_P(key), &terms, condition, return_value);
	} else if (Z_TYPE_P(key) == IS_STRING) {
		RETVAL_BOOL(value && store(Z_STR_P(key), value, &terms, condition));
	} else {
		php_error_docref(NULL, E_WARNING, "apc_store expects key parameter to be a string or an array of key/value pairs.");
		RETVAL_FALSE;
	}
	hearth_cache_terms_free(&terms);
}

ZEND_FUNCTION(hearth_apcu_store) { store_helper(INTERNAL_FUNCTION_PARAM_PASSTHRU, HEARTH_CACHE_ALWAYS); }
ZEND_FUNCTION(hearth_apcu_add) { store_helper(INTERNAL_FUNCTION_PARAM_PASSTHRU, HEARTH_CACHE_IF_ABSENT); }

/* Returns the microseconds that an entry has left; 0 for an entry without an expiry. */
static uint64_t time_left(const hearth_cache_found *found)
{
	uint64_t now = hearth_on_cache_now();

	if (found->expires == 0) {
		return 0;
	}
	return found->expires > now ? found->expires - now : 1;
}

/* Lets a sum that is out of the range of an int wrap around. */
static bool wrap(hearth_cache_write *write, int64_t *sum)
{
	int64_t by = write->number;
	hearth_cache_found found;

	while (hearth_on_cache_read(write->key, &found) == HEARTH_CACHE_YES && found.encoding == HEARTH_CACHE_INT) {
		write->ttl = time_left(&found);
		write->condition = HEARTH_CACHE_IF_EQUAL;
		write->encoding = write->expected_encoding = HEARTH_CACHE_INT;
		write->expected_number = found.number;
		write->number = *sum = (int64_t) ((uint64_t) found.number + (uint64_t) by);
		switch (hearth_on_cache_write(write)) {
			case HEARTH_CACHE_YES: return true;
			case HEARTH_CACHE_NO: continue;
			default: return false;
		}
	}
	return false;
}

static bool add_to(hearth_cache_write *write, int64_t *sum)
{
	int outcome = hearth_on_cache_increment(write, sum);

	return outcome == HEARTH_CACHE_YES || (outcome == HEARTH_CACHE_OVERFLOW && wrap(write, sum));
}

static void step(INTERNAL_FUNCTION_PARAMETERS, bool down)
{
	zend_string *name, *key;
	zend_long by = 1, ttl = 0;
	zval *success = NULL;
	hearth_cache_write write;
	hearth_cache_terms terms;
	hearth_cache_key full;
	int64_t sum = 0;
	bool done = false;

	ZEND_PARSE_PARAMETERS_START(1, 4)
		Z_PARAM_STR(name)
		Z_PARAM_OPTIONAL
		Z_PARAM_LONG(by)
		Z_PARAM_ZVAL(success)
		Z_PARAM_LONG(ttl)
	ZEND_PARSE_PARAMETERS_END();
	key = hearth_apcu_key(name);
	if (hearth_cache_key_of(&hearth_apcu, key, 1, &full) && hearth_cache_terms_of(&hearth_apcu, (double) ttl, ttl == 0, 4, NULL, &terms)) {
		write = hearth_cache_write_of(&full, &terms);
		write.ttl = (uint64_t) MAX(terms.ttl, 0);
		write.number = down ? (int64_t) (0 - (uint64_t) by) : by;
		/* With a negative ttl a new entry would not be kept, so only an existing one is added to. */
		done = (terms.ttl >= 0 || hearth_apcu_has(name)) && add_to(&write, &sum);
		hearth_cache_terms_free(&terms);
	}
	zend_string_release(key);
	if (success) {
		ZEND_TRY_ASSIGN_REF_BOOL(success, done);
	}
	if (done) {
		RETURN_LONG((zend_long) sum);
	}
	RETURN_FALSE;
}

ZEND_FUNCTION(hearth_apcu_inc) { step(INTERNAL_FUNCTION_PARAM_PASSTHRU, false); }
ZEND_FUNCTION(hearth_apcu_dec) { step(INTERNAL_FUNCTION_PARAM_PASSTHRU, true); }

ZEND_FUNCTION(hearth_apcu_cas)
{
	zend_string *name, *key;
	zend_long before, after;
	hearth_cache_terms terms;
	hearth_cache_write write;
	hearth_cache_found found;
	hearth_cache_key full;
	bool done = false;

	ZEND_PARSE_PARAMETERS_START(3, 3)
		Z_PARAM_STR(name)
		Z_PARAM_LONG(before)
		Z_PARAM_LONG(after)
	ZEND_PARSE_PARAMETERS_END();
	key = hearth_apcu_key(name);
	if (hearth_cache_key_of(&hearth_apcu, key, 1, &full) && hearth_cache_terms_of(&hearth_apcu, 0, true, 2, NULL, &terms)) {
		write = hearth_cache_write_of(&full, &terms);
		if (hearth_on_cache_read(write.key, &found) == HEARTH_CACHE_YES) {
			write.ttl = time_left(&found);
		}
		write.encoding = write.expected_encoding = HEARTH_CACHE_INT;
		write.number = after;
		write.condition = HEARTH_CACHE_IF_EQUAL;
		write.expected_number = before;
		done = hearth_on_cache_write(&write) == HEARTH_CACHE_YES;
		hearth_cache_terms_free(&terms);
	}
	zend_string_release(key);
	RETURN_BOOL(done);
}

ZEND_FUNCTION(hearth_apcu_entry)
{
	zend_string *name, *key;
	zend_fcall_info fci;
	zend_fcall_info_cache cache;
	zend_long ttl = 0;

	ZEND_PARSE_PARAMETERS_START(2, 3)
		Z_PARAM_STR(name)
		Z_PARAM_FUNC(fci, cache)
		Z_PARAM_OPTIONAL
		Z_PARAM_LONG(ttl)
	ZEND_PARSE_PARAMETERS_END();
	key = hearth_apcu_key(name);
	hearth_cache_remember(&hearth_apcu, key, (double) ttl, ttl == 0, &fci.function_name, name, return_value);
	zend_string_release(key);
}

/* ---- deleting ---- */

static bool delete(zend_string *name)
{
	zend_string *key = hearth_apcu_key(name);
	hearth_cache_key full;
	bool done = hearth_cache_key_of(&hearth_apcu, key, 1, &full) && hearth_on_cache_delete((hearth_str){full.ptr, full.len}) == HEARTH_CACHE_YES;

	zend_string_release(key);
	return done;
}

/* Returns NULL if the class was not loaded yet. */
static zend_class_entry *iterator_class(void)
{
	return zend_hash_str_find_ptr(CG(class_table), ZEND_STRL("apcuiterator"));
}

ZEND_FUNCTION(hearth_apcu_delete)
{
	zend_class_entry *iterator;
	zval *key;

	ZEND_PARSE_PARAMETERS_START(1, 1)
		Z_PARAM_ZVAL(key)
	ZEND_PARSE_PARAMETERS_END();
	if (Z_TYPE_P(key) == IS_STRING) {
		RETURN_BOOL(delete(Z_STR_P(key)));
	}
	if (Z_TYPE_P(key) == IS_ARRAY) {
		hearth_apcu_delete_many(Z_ARRVAL_P(key), return_value);
	} else if (Z_TYPE_P(key) == IS_OBJECT && (iterator = iterator_class()) && instanceof_function(Z_OBJCE_P(key), iterator)) {
		zend_call_method_with_0_params(Z_OBJ_P(key), iterator, NULL, "deleteall", NULL);
		RETURN_TRUE;
	} else {
		php_error_docref(NULL, E_WARNING, HEARTH_APCU_DELETE_MISTAKE);
		RETURN_FALSE;
	}
}

ZEND_FUNCTION(hearth_apcu_clear_cache)
{
	ZEND_PARSE_PARAMETERS_NONE();
	hearth_on_cache_delete_tag((hearth_str){ZSTR_VAL(hearth_apcu.prefix), ZSTR_LEN(hearth_apcu.prefix)});
	RETURN_TRUE;
}
