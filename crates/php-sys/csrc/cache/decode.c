/* Decodes values from bytes, as memory of the engine or, if `shared`, of the process. */
#include "cache/value.h"

/* Keys that arrays share are one string: rows repeat the same keys. */
#define RECENT 64

typedef struct {
	const char *at, *end;
	bool shared;
	size_t size;
	zend_string *recent[RECENT];
} decoder;

static bool take(decoder *from, void *into, size_t length)
{
	if ((size_t) (from->end - from->at) < length) {
		return false;
	}
	memcpy(into, from->at, length);
	from->at += length;
	return true;
}

static zend_string *make_string(decoder *from, const char *text, size_t length)
{
	zend_string *string = zend_string_init(text, length, from->shared);

	from->size += _ZSTR_STRUCT_SIZE(length);
	if (from->shared) {
		zend_string_hash_val(string);
		GC_ADD_FLAGS(string, IS_STR_INTERNED);
	}
	return string;
}

static const char *take_text(decoder *from, uint32_t *length)
{
	const char *text;

	if (!take(from, length, sizeof *length) || (size_t) (from->end - from->at) < *length) {
		return NULL;
	}
	text = from->at;
	from->at += *length;
	return text;
}

static bool take_string(decoder *from, zval *out)
{
	uint32_t length;
	const char *text = take_text(from, &length);

	if (!text) {
		return false;
	}
	if (length <= 1) {
		ZVAL_INTERNED_STR(out, length ? ZSTR_CHAR((zend_uchar) *text) : ZSTR_EMPTY_ALLOC());
	} else if (from->shared) {
		ZVAL_INTERNED_STR(out, make_string(from, text, length));
	} else {
		ZVAL_NEW_STR(out, make_string(from, text, length));
	}
	return true;
}

/* Returns a key with one more owner. */
static zend_string *take_key(decoder *from)
{
	uint32_t length;
	const char *text = take_text(from, &length);
	zend_string **recent, *key;

	if (!text) {
		return NULL;
	}
	recent = &from->recent[zend_hash_func(text, length) % RECENT];
	key = *recent;
	if (key && ZSTR_LEN(key) == length && memcmp(ZSTR_VAL(key), text, length) == 0) {
		/* The engine does not count the owners of shared strings; this code does. */
		GC_ADDREF(key);
		return key;
	}
	key = make_string(from, text, length);
	zend_string_hash_val(key);
	*recent = key;
	return key;
}

static bool take_value(decoder *from, zval *out, int depth);

static HashTable *make_array(decoder *from, uint32_t count, bool is_list)
{
	HashTable *array = pemalloc(sizeof *array, from->shared);

	zend_hash_init(array, count, NULL, ZVAL_PTR_DTOR, from->shared);
	if (is_list) {
		zend_hash_real_init_packed(array);
		from->size += HT_PACKED_SIZE(array);
	} else {
		zend_hash_real_init_mixed(array);
		from->size += HT_SIZE(array);
	}
	from->size += sizeof *array;
	return array;
}

static bool fill_list(decoder *from, HashTable *array, uint32_t count, int depth)
{
	while (count-- > 0) {
		zval element;

		if (!take_value(from, &element, depth)) {
			return false;
		}
		zend_hash_next_index_insert_new(array, &element);
	}
	return true;
}

static bool fill_map(decoder *from, HashTable *array, uint32_t count, int depth)
{
	while (count-- > 0) {
		zend_string *key = NULL;
		int64_t number = 0;
		char kind;
		zval element;

		if (!take(from, &kind, 1) || !(kind == STRING ? (key = take_key(from)) != NULL : kind == INT && take(from, &number, 8))) {
			return false;
		}
		if (!take_value(from, &element, depth)) {
			ZVAL_NULL(&element);
			depth = -1;
		}
		if (key) {
			zend_hash_update(array, key, &element);
			if (!from->shared) {
				zend_string_release(key);
			}
		} else {
			zend_hash_index_update(array, (zend_ulong) number, &element);
		}
		if (depth < 0) {
			return false;
		}
	}
	return true;
}

static bool take_array(decoder *from, zval *out, bool is_list, int depth)
{
	HashTable *array;
	uint32_t count;

	if (depth < 0 || !take(from, &count, sizeof count) || count > (size_t) (from->end - from->at)) {
		return false;
	}
	if (count == 0) {
		ZVAL_EMPTY_ARRAY(out);
		return true;
	}
	array = make_array(from, count, is_list);
	ZVAL_ARR(out, array);
	if (from->shared) {
		GC_SET_REFCOUNT(array, 2);
		GC_TYPE_INFO(array) = GC_ARRAY | ((GC_IMMUTABLE | GC_PERSISTENT | GC_NOT_COLLECTABLE) << GC_FLAGS_SHIFT);
		Z_TYPE_INFO_P(out) = IS_ARRAY;
	}
	if (is_list ? fill_list(from, array, count, depth) : fill_map(from, array, count, depth)) {
		return true;
	}
	from->shared ? hearth_cache_free_shared(out) : zval_ptr_dtor(out);
	return false;
}

static bool take_value(decoder *from, zval *out, int depth)
{
	int64_t number;
	double fraction;
	char kind;

	if (!take(from, &kind, 1)) {
		return false;
	}
	switch (kind) {
		case NONE: ZVAL_NULL(out); return true;
		case NO: ZVAL_FALSE(out); return true;
		case YES: ZVAL_TRUE(out); return true;
		case INT:
			if (!take(from, &number, sizeof number)) {
				return false;
			}
			ZVAL_LONG(out, (zend_long) number);
			return true;
		case DOUBLE:
			if (!take(from, &fraction, sizeof fraction)) {
				return false;
			}
			ZVAL_DOUBLE(out, fraction);
			return true;
		case STRING: return take_string(from, out);
		case LIST:
		case MAP: return take_array(from, out, kind == LIST, depth - 1);
		default: return false;
	}
}

bool hearth_cache_decode(hearth_str bytes, bool shared, zval *out, size_t *size)
{
	decoder from = { .at = bytes.ptr, .end = bytes.ptr + bytes.len, .shared = shared };
	zval value;

	if (!take_value(&from, &value, DEPTH)) {
		return false;
	}
	if (from.at != from.end) {
		shared ? hearth_cache_free_shared(&value) : zval_ptr_dtor(&value);
		return false;
	}
	*size = from.size;
	ZVAL_COPY_VALUE(out, &value);
	return true;
}

static void free_shared_string(zend_string *string)
{
	if (!(GC_FLAGS(string) & IS_STR_PERMANENT) && GC_DELREF(string) == 0) {
		pefree(string, 1);
	}
}

void hearth_cache_free_shared(zval *value)
{
	zend_string *key;
	zval *element;

	if (Z_TYPE_P(value) == IS_STRING) {
		free_shared_string(Z_STR_P(value));
	} else if (Z_TYPE_P(value) == IS_ARRAY && Z_ARRVAL_P(value) != &zend_empty_array) {
		HashTable *array = Z_ARRVAL_P(value);

		ZEND_HASH_FOREACH_STR_KEY_VAL(array, key, element) {
			hearth_cache_free_shared(element);
			if (key) {
				free_shared_string(key);
			}
		} ZEND_HASH_FOREACH_END();
		pefree(HT_GET_DATA_ADDR(array), 1);
		pefree(array, 1);
	}
}
