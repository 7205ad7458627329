/* Values with objects, which PHP serializes: each reader gets objects of its own. */
#include "cache/cache.h"
#include "state/local_symbols.h"

#include <ext/standard/basic_functions.h>
#include <ext/standard/php_incomplete_class.h>
#include <ext/standard/php_var.h>

/* The first bytes of igbinary's format: no text of serialize() begins like this. */
static const char IGBINARY[] = {0, 0, 0, 2};

hearth_reading hearth_reading_now;
static zend_object *(*create_incomplete_before)(zend_class_entry *ce);
static void (*others_hook)(zend_object *exception);

/* Whether the engine or an extension makes the object for this read, and not the app's own code meanwhile. */
static bool is_made_by(const zend_execute_data *reader)
{
	const zend_execute_data *frame = EG(current_execute_data);

	while (frame != reader && frame && (!frame->func || !ZEND_USER_CODE(frame->func->type))) {
		frame = frame->prev_execute_data;
	}
	return frame == reader;
}

static zend_object *create_incomplete(zend_class_entry *ce)
{
	if (hearth_reading_now.is_under_way && is_made_by(hearth_reading_now.reader)) {
		hearth_reading_now.is_incomplete = true;
	}
	return create_incomplete_before(ce);
}

static bool is_thrown_by_code(void)
{
	const zend_execute_data *frame = EG(current_execute_data);

	return frame && frame->func && ZEND_USER_CODE(frame->func->type) && frame->opline->opcode == ZEND_THROW;
}

/*
 * A release may have changed a class, so that its values fit it no more: PHP throws an Error, or, where no code of the app runs, an
 * Exception of its own. What the app's code throws is the app's business.
 */
static bool is_refusal(const zend_object *exception)
{
	return instanceof_function(exception->ce, zend_ce_error) ? !is_thrown_by_code()
		: exception->ce == zend_ce_exception && is_made_by(hearth_reading_now.reader);
}

static void note_thrown(zend_object *exception)
{
	if (UNEXPECTED(hearth_reading_now.is_under_way) && exception) {
		hearth_reading_now.refusal = is_refusal(exception) ? exception : NULL;
	}
	if (others_hook) {
		others_hook(exception);
	}
}

static hearth_reading begin_reading(void)
{
	hearth_reading before = hearth_reading_now;

	hearth_reading_now = (hearth_reading) {.reader = EG(current_execute_data), .is_under_way = true};
	return before;
}

/* Returns the message of the exception, without file and line, as a new string. */
static zend_string *message_of(zend_object *exception)
{
	zval place, *message = zend_read_property_ex(exception->ce, exception, ZSTR_KNOWN(ZEND_STR_MESSAGE), 1, &place);

	return zval_get_string(message);
}

/* Returns whether every object could be made. */
static bool end_reading(hearth_reading before, zend_string **why)
{
	zend_object *exception = EG(exception);
	bool complete = !exception && !hearth_reading_now.is_incomplete;
	bool refused = exception && exception == hearth_reading_now.refusal && !hearth_is_cut_off(exception);

	hearth_reading_now = before;
	if (refused) {
		*why = message_of(exception);
		zend_clear_exception();
	}
	return complete;
}

void hearth_unserialize_hook(void)
{
	others_hook = zend_throw_exception_hook;
	zend_throw_exception_hook = note_thrown;
	create_incomplete_before = php_ce_incomplete_class->create_object;
	php_ce_incomplete_class->create_object = create_incomplete;
}

static zend_function *igbinary(const char *name)
{
	zend_function *function = zend_hash_str_find_ptr(CG(function_table), name, strlen(name));

	return function && function->type == ZEND_INTERNAL_FUNCTION ? function : NULL;
}

/* Serializes with igbinary where it is installed: shorter, faster to read. False: it is not, or an exception is pending. */
bool hearth_cache_igbinary(zval *value, smart_str *out)
{
	zend_function *function = igbinary("igbinary_serialize");
	zval result;
	bool done;

	if (!function) {
		return false;
	}
	ZVAL_NULL(&result);
	zend_call_known_function(function, NULL, NULL, &result, 1, value, NULL);
	done = !EG(exception) && Z_TYPE(result) == IS_STRING && Z_STRLEN(result) > sizeof IGBINARY
		&& memcmp(Z_STRVAL(result), IGBINARY, sizeof IGBINARY) == 0;
	if (done) {
		smart_str_append(out, Z_STR(result));
	}
	zval_ptr_dtor(&result);
	return done;
}

static bool by_igbinary(zend_string *bytes, zval *out, zend_string **why)
{
	zend_function *function = igbinary("igbinary_unserialize");
	hearth_reading before = begin_reading();
	zval argument, value;

	ZVAL_UNDEF(&value);
	if (function) {
		ZVAL_STR(&argument, bytes);
		zend_call_known_function(function, NULL, NULL, &value, 1, &argument, NULL);
	}
	if (end_reading(before, why) && (Z_TYPE(value) == IS_ARRAY || Z_TYPE(value) == IS_OBJECT)) {
		ZVAL_COPY_VALUE(out, &value);
		return true;
	}
	zval_ptr_dtor(&value);
	return false;
}

/*
 * Loads classes and runs their code, which may wait and use the cache, so `bytes` must be the caller's own. A release may
 * have removed a class, be it only of a part: a value that cannot be made again completely is no value.
 */
bool hearth_cache_unserialize(zend_string *bytes, zval *out, zend_string **why)
{
	const unsigned char *at = (const unsigned char *) ZSTR_VAL(bytes), *end = at + ZSTR_LEN(bytes);
	php_unserialize_data_t data;
	hearth_reading before;
	zval root, value;
	bool whole;

	if (ZSTR_LEN(bytes) > sizeof IGBINARY && memcmp(ZSTR_VAL(bytes), IGBINARY, sizeof IGBINARY) == 0) {
		return by_igbinary(bytes, out, why);
	}
	before = begin_reading();
	ZVAL_UNDEF(&root);
	ZVAL_UNDEF(&value);
	/* A running unserialize() has references of its own. */
	BG(serialize_lock)++;
	PHP_VAR_UNSERIALIZE_INIT(data);
	whole = php_var_unserialize(&root, &at, end, &data);
	if (whole) {
		ZVAL_COPY_DEREF(&value, &root);
	}
	/* The objects' own code runs here. */
	PHP_VAR_UNSERIALIZE_DESTROY(data);
	BG(serialize_lock)--;
	zval_ptr_dtor(&root);
	if (end_reading(before, why) && whole) {
		ZVAL_COPY_VALUE(out, &value);
		return true;
	}
	zval_ptr_dtor(&value);
	return false;
}
