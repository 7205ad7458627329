/* Encodes values as bytes: values with objects, or with one reference at two places, are serialized by PHP. */
#include "cache/value.h"

#include <ext/standard/basic_functions.h>
#include <ext/standard/php_incomplete_class.h>
#include <ext/standard/php_var.h>

typedef struct {
	smart_str *out;
	bool is_php;                     /* the value contains something that only PHP can serialize */
	const char *mistake;
	HashTable *references;           /* references met so far; NULL: none */
} encoder;

static void put_length(smart_str *out, size_t length)
{
	uint32_t number = (uint32_t) length;

	smart_str_appendl(out, (const char *) &number, sizeof number);
}

static void put_int(smart_str *out, int64_t number)
{
	smart_str_appendc(out, INT);
	smart_str_appendl(out, (const char *) &number, sizeof number);
}

static void put_string(encoder *to, const zend_string *string)
{
	if (ZSTR_LEN(string) > UINT32_MAX) {
		to->mistake = "has a string of more than 4 GiB";
		return;
	}
	smart_str_appendc(to->out, STRING);
	put_length(to->out, ZSTR_LEN(string));
	smart_str_appendl(to->out, ZSTR_VAL(string), ZSTR_LEN(string));
}

static void put(encoder *to, zval *value, int depth);

static void put_array(encoder *to, HashTable *array, int depth)
{
	bool is_list = zend_array_is_list(array);
	zend_ulong number;
	zend_string *key;
	zval *element;

	if (depth == 0) {
		to->mistake = "has arrays that are nested more than 512 times";
		return;
	}
	smart_str_appendc(to->out, is_list ? LIST : MAP);
	put_length(to->out, zend_hash_num_elements(array));
	ZEND_HASH_FOREACH_KEY_VAL_IND(array, number, key, element) {
		if (!is_list && key) {
			put_string(to, key);
		} else if (!is_list) {
			put_int(to->out, (int64_t) number);
		}
		put(to, element, depth - 1);
		if (to->mistake) {
			return;
		}
	} ZEND_HASH_FOREACH_END();
}

/* Whether the reference was met before. One that is shared only with something outside counts as a plain value. */
static bool is_met_again(encoder *to, zend_reference *reference)
{
	if (GC_REFCOUNT(reference) == 1) {
		return false;
	}
	if (!to->references) {
		ALLOC_HASHTABLE(to->references);
		zend_hash_init(to->references, 8, NULL, NULL, 0);
	}
	return !zend_hash_index_add_empty_element(to->references, (zend_ulong) (uintptr_t) reference >> 4);
}

static void put(encoder *to, zval *value, int depth)
{
	double number;

	if (Z_ISREF_P(value) && is_met_again(to, Z_REF_P(value))) {
		to->is_php = true;
		return;
	}
	ZVAL_DEREF(value);
	switch (Z_TYPE_P(value)) {
		case IS_UNDEF:
		case IS_NULL: smart_str_appendc(to->out, NONE); break;
		case IS_FALSE: smart_str_appendc(to->out, NO); break;
		case IS_TRUE: smart_str_appendc(to->out, YES); break;
		case IS_LONG: put_int(to->out, Z_LVAL_P(value)); break;
		case IS_DOUBLE:
			number = Z_DVAL_P(value);
			smart_str_appendc(to->out, DOUBLE);
			smart_str_appendl(to->out, (const char *) &number, sizeof number);
			break;
		case IS_STRING: put_string(to, Z_STR_P(value)); break;
		case IS_ARRAY: put_array(to, Z_ARRVAL_P(value), depth); break;
		case IS_OBJECT:
			to->is_php = true;
			if (Z_OBJCE_P(value) == php_ce_incomplete_class) {
				to->mistake = "is or has an object whose class was missing when it was unserialized: nothing could read it again";
			}
			break;
		default: to->mistake = "is or has a resource, which exists in this process only";
	}
}

/*
 * Runs code of the objects, which may write to `variable`. The lock separates this from a running serialize() whose
 * Serializable::serialize() is the caller.
 */
static bool serialize(zval *variable, smart_str *out)
{
	php_serialize_data_t data;
	zval value;

	smart_str_free(out);
	ZVAL_COPY(&value, variable);
	if (!hearth_cache_igbinary(&value, out) && !EG(exception)) {
		BG(serialize_lock)++;
		PHP_VAR_SERIALIZE_INIT(data);
		php_var_serialize(out, &value, &data);
		PHP_VAR_SERIALIZE_DESTROY(data);
		BG(serialize_lock)--;
		smart_str_0(out);
	}
	zval_ptr_dtor(&value);
	return !EG(exception);
}

hearth_str hearth_cache_bytes(const hearth_cache_encoded *encoded)
{
	const zend_string *bytes = encoded->bytes.s;

	return bytes ? (hearth_str){ZSTR_VAL(bytes), ZSTR_LEN(bytes)} : (hearth_str){"", 0};
}

void hearth_cache_encoded_free(hearth_cache_encoded *encoded)
{
	smart_str_free(&encoded->bytes);
}

bool hearth_cache_encode(zval *value, uint32_t argument, hearth_cache_encoded *out)
{
	encoder to = { .out = &out->bytes };

	memset(out, 0, sizeof *out);
	ZVAL_DEREF(value);
	if (Z_TYPE_P(value) == IS_LONG) {
		out->encoding = HEARTH_CACHE_INT;
		out->number = Z_LVAL_P(value);
		return true;
	}
	out->encoding = HEARTH_CACHE_PLAIN;
	put(&to, value, DEPTH);
	if (to.references) {
		zend_hash_destroy(to.references);
		FREE_HASHTABLE(to.references);
	}
	if (to.mistake) {
		zend_argument_value_error(argument, "%s", to.mistake);
	} else if (to.is_php) {
		out->encoding = HEARTH_CACHE_SERIALIZED;
		if (serialize(value, &out->bytes)) {
			return true;
		}
	} else {
		return true;
	}
	hearth_cache_encoded_free(out);
	return false;
}
