/* Methods of Hearth\Cache for several keys: one operation of the store for all keys. */
#include "cache/cache.h"

#define SELF hearth_cache_object_of(Z_OBJ_P(ZEND_THIS))

void hearth_cache_keys_begin(hearth_cache_keys *keys, size_t most)
{
	keys->count = 0;
	keys->names = safe_emalloc(most, sizeof *keys->names, 1);
	keys->full = safe_emalloc(most, sizeof *keys->full, 1);
	keys->list = safe_emalloc(most, sizeof *keys->list, 1);
}

void hearth_cache_keys_end(hearth_cache_keys *keys)
{
	for (size_t i = 0; i < keys->count; i++) {
		zend_string_release(keys->names[i]);
		zend_string_release(keys->full[i]);
	}
	efree(keys->names);
	efree(keys->full);
	efree(keys->list);
}

bool hearth_cache_keys_add(hearth_cache_keys *keys, const hearth_cache_object *self, zend_string *name)
{
	hearth_cache_key key;
	zend_string *full;

	if (!name || !hearth_cache_key_in(self, name, 1, &key)) {
		if (name) {
			zend_string_release(name);
		}
		return false;
	}
	full = self->prefix ? zend_string_init(key.ptr, key.len, 0) : zend_string_copy(name);
	keys->names[keys->count] = name;
	keys->full[keys->count] = full;
	keys->list[keys->count++] = (hearth_str){ZSTR_VAL(full), ZSTR_LEN(full)};
	return true;
}

/* Integers are keys too, because PHP converts numeric strings to them. */
static zend_string *key_in(zval *value)
{
	ZVAL_DEREF(value);
	if (Z_TYPE_P(value) == IS_STRING) {
		return zend_string_copy(Z_STR_P(value));
	}
	if (Z_TYPE_P(value) == IS_LONG) {
		return zend_long_to_str(Z_LVAL_P(value));
	}
	zend_argument_type_error(1, "must be an array of strings, %s given in it", zend_zval_type_name(value));
	return NULL;
}

/* False: an exception is pending, and the keys are freed. */
static bool keys_of(hearth_cache_keys *keys, const hearth_cache_object *self, HashTable *names)
{
	zval *name;

	hearth_cache_keys_begin(keys, zend_hash_num_elements(names));
	ZEND_HASH_FOREACH_VAL(names, name) {
		if (!hearth_cache_keys_add(keys, self, key_in(name))) {
			hearth_cache_keys_end(keys);
			return false;
		}
	} ZEND_HASH_FOREACH_END();
	return true;
}

/* ---- reading ---- */

/* How several values are read. */
typedef enum {
	FETCH,
	CHECK,                           /* values with objects stay bytes: to see which values there are */
	PEEK,                            /* without a copy, and without being counted as a read */
} manner;

/* Takes values without objects as values; of others the bytes, because decoding them runs code. */
static void take(const hearth_cache_keys *keys, const hearth_cache_found *found, manner manner, zval *out)
{
	for (size_t i = 0; i < keys->count; i++) {
		const hearth_cache_found *one = &found[i];

		if (one->encoding == HEARTH_CACHE_SERIALIZED) {
			ZVAL_NEW_STR(&out[i], zend_string_init(one->bytes.ptr, one->bytes.len, 0));
		} else if (one->encoding == HEARTH_CACHE_NOTHING
				|| !(manner == PEEK ? hearth_cache_value_make(one, &out[i]) : hearth_cache_copy_make(keys->list[i], one, &out[i]))) {
			ZVAL_UNDEF(&out[i]);
		}
	}
}

static void make_object(hearth_str key, const hearth_cache_validator *own, zval *out)
{
	zend_string *bytes = Z_STR_P(out), *why = NULL;

	if (!hearth_cache_unserialize(bytes, out, &why)) {
		ZVAL_UNDEF(out);
		hearth_cache_forget(key, own, why);
	}
	zend_string_release(bytes);
}

/* Reads the keys for which this process has no copy; false: an exception is pending. */
static bool read_all(const hearth_cache_keys *keys, manner manner, zval *out)
{
	hearth_cache_found *found = safe_emalloc(keys->count, sizeof *found, 0);
	bool done;

	memset(found, 0, keys->count * sizeof *found);
	done = hearth_cache_done((manner == PEEK ? hearth_on_cache_peek_many : hearth_on_cache_read_many)(keys->list, keys->count, found), 0);
	if (done) {
		take(keys, found, manner, out);
	}
	/* Values left as bytes after an exception are freed by the caller. */
	for (size_t i = 0; done && manner != CHECK && i < keys->count && !EG(exception); i++) {
		if (found[i].encoding == HEARTH_CACHE_SERIALIZED) {
			make_object(keys->list[i], &found[i].own, &out[i]);
		}
	}
	efree(found);
	hearth_cache_copies_were_read();
	return done && !EG(exception);
}

static bool get_many(const hearth_cache_object *self, zend_string **names, size_t count, manner manner, zval *out)
{
	size_t *places = safe_emalloc(count, sizeof *places, 1);
	zval *read = safe_emalloc(count, sizeof *read, 1);
	hearth_cache_keys keys;
	uint64_t stale;
	bool fine = true;

	hearth_cache_keys_begin(&keys, count);
	for (size_t i = 0; i < count; i++) {
		ZVAL_UNDEF(&out[i]);
		if (fine && (manner == PEEK || !hearth_cache_copy_get(self, names[i], &out[i], &stale))) {
			places[keys.count] = i;
			ZVAL_UNDEF(&read[keys.count]);
			fine = hearth_cache_keys_add(&keys, self, zend_string_copy(names[i]));
		}
	}
	fine = fine && (keys.count == 0 || read_all(&keys, manner, read));
	for (size_t i = 0; i < keys.count; i++) {
		ZVAL_COPY_VALUE(&out[places[i]], &read[i]);
	}
	for (size_t i = 0; !fine && i < count; i++) {
		zval_ptr_dtor(&out[i]);
		ZVAL_UNDEF(&out[i]);
	}
	hearth_cache_keys_end(&keys);
	efree(places);
	efree(read);
	return fine;
}

bool hearth_cache_fetch_many(const hearth_cache_object *self, zend_string **names, size_t count, zval *out)
{
	return get_many(self, names, count, FETCH, out);
}

bool hearth_cache_check_many(const hearth_cache_object *self, zend_string **names, size_t count, zval *out)
{
	return get_many(self, names, count, CHECK, out);
}

bool hearth_cache_peek_many(const hearth_cache_object *self, zend_string **names, size_t count, zval *out)
{
	return get_many(self, names, count, PEEK, out);
}

ZEND_METHOD(Hearth_Cache, getMultiple)
{
	zval *otherwise = NULL, *values;
	HashTable *names;
	hearth_cache_keys keys;

	ZEND_PARSE_PARAMETERS_START(1, 2)
		Z_PARAM_ARRAY_HT(names)
		Z_PARAM_OPTIONAL
		Z_PARAM_ZVAL(otherwise)
	ZEND_PARSE_PARAMETERS_END();
	if (!keys_of(&keys, SELF, names)) {
		return;
	}
	array_init_size(return_value, (uint32_t) keys.count);
	values = safe_emalloc(keys.count, sizeof *values, 1);
	if (hearth_cache_fetch_many(SELF, keys.names, keys.count, values)) {
		for (size_t i = 0; i < keys.count; i++) {
			if (Z_TYPE(values[i]) == IS_UNDEF) {
				ZVAL_NULL(&values[i]);
				if (otherwise) {
					ZVAL_COPY_DEREF(&values[i], otherwise);
				}
			}
			zend_symtable_update(Z_ARRVAL_P(return_value), keys.names[i], &values[i]);
		}
	}
	efree(values);
	hearth_cache_keys_end(&keys);
}

/* ---- writing ---- */

/* Encodes each value. Serializing runs code, which may write to the variables that elements are references to. */
static bool encode_all(const hearth_cache_object *self, HashTable *values, hearth_cache_keys *keys, hearth_cache_encoded *encoded)
{
	zend_string *key;
	zend_ulong number;
	zval *value;

	ZEND_HASH_FOREACH_KEY_VAL(values, number, key, value) {
		size_t at = keys->count;

		if (!hearth_cache_keys_add(keys, self, key ? zend_string_copy(key) : zend_long_to_str((zend_long) number))) {
			return false;
		}
		if (!hearth_cache_encode(value, 1, &encoded[at])) {
			return false;
		}
	} ZEND_HASH_FOREACH_END();
	return true;
}

void hearth_cache_write_many(const hearth_cache_keys *keys, const hearth_cache_encoded *encoded, const hearth_cache_terms *terms,
	int condition, bool whole, int *outcomes)
{
	hearth_cache_write *writes = safe_emalloc(keys->count, sizeof *writes, 1);

	for (size_t i = 0; i < keys->count; i++) {
		outcomes[i] = HEARTH_CACHE_NO;
		writes[i] = (hearth_cache_write){
			.key = keys->list[i], .ttl = (uint64_t) terms->ttl, .tags = terms->tags.list, .tag_count = terms->tags.count,
			.encoding = encoded[i].encoding, .number = encoded[i].number, .bytes = hearth_cache_bytes(&encoded[i]), .condition = condition,
		};
	}
	hearth_on_cache_write_many(writes, keys->count, whole, outcomes);
	efree(writes);
}

/* Whether all were written. Throws for mistakes of the caller. */
static bool write_all(const hearth_cache_keys *keys, const hearth_cache_encoded *encoded, const hearth_cache_terms *terms)
{
	int *outcomes = safe_emalloc(keys->count, sizeof *outcomes, 0);
	bool all = true;

	hearth_cache_write_many(keys, encoded, terms, HEARTH_CACHE_ALWAYS, true, outcomes);
	for (size_t i = 0; i < keys->count && !EG(exception); i++) {
		all &= hearth_cache_done(outcomes[i], hearth_cache_bytes(&encoded[i]).len);
	}
	efree(outcomes);
	return all;
}

static bool set_all(const hearth_cache_object *self, HashTable *values, const hearth_cache_terms *terms)
{
	size_t count = zend_hash_num_elements(values);
	hearth_cache_encoded *encoded = ecalloc(count, sizeof *encoded);
	hearth_cache_keys keys;
	bool done;

	hearth_cache_keys_begin(&keys, count);
	done = encode_all(self, values, &keys, encoded) && write_all(&keys, encoded, terms);
	for (size_t i = 0; i < keys.count; i++) {
		hearth_cache_encoded_free(&encoded[i]);
	}
	hearth_cache_keys_end(&keys);
	efree(encoded);
	return done;
}

/* ---- deleting ---- */

void hearth_cache_delete_many(const hearth_cache_keys *keys, bool *deleted)
{
	memset(deleted, 0, keys->count * sizeof *deleted);
	if (keys->count > 0) {
		hearth_cache_done(hearth_on_cache_delete_many(keys->list, keys->count, deleted), 0);
	}
}

/* Returns the number of values that existed. */
static zend_long delete_all(const hearth_cache_keys *keys)
{
	bool *deleted = safe_emalloc(keys->count, sizeof *deleted, 1);
	zend_long count = 0;

	hearth_cache_delete_many(keys, deleted);
	for (size_t i = 0; i < keys->count; i++) {
		count += deleted[i];
	}
	efree(deleted);
	return count;
}

/* Used for a negative ttl: the values would be over before they begin. */
static bool delete_keys_of(const hearth_cache_object *self, HashTable *values)
{
	zend_string *key;
	zend_ulong number;
	hearth_cache_keys keys;
	bool fine = true;

	hearth_cache_keys_begin(&keys, zend_hash_num_elements(values));
	ZEND_HASH_FOREACH_KEY(values, number, key) {
		fine = fine && hearth_cache_keys_add(&keys, self, key ? zend_string_copy(key) : zend_long_to_str((zend_long) number));
	} ZEND_HASH_FOREACH_END();
	if (fine) {
		delete_all(&keys);
	}
	hearth_cache_keys_end(&keys);
	return !EG(exception);
}

ZEND_METHOD(Hearth_Cache, setMultiple)
{
	HashTable *values, *tags = NULL;
	double ttl = 0;
	bool forever = true;
	hearth_cache_terms terms;

	ZEND_PARSE_PARAMETERS_START(1, 3)
		Z_PARAM_ARRAY_HT(values)
		Z_PARAM_OPTIONAL
		Z_PARAM_DOUBLE_OR_NULL(ttl, forever)
		Z_PARAM_ARRAY_HT(tags)
	ZEND_PARSE_PARAMETERS_END();
	if (!hearth_cache_terms_of(SELF, ttl, forever, 2, tags, &terms)) {
		return;
	}
	if (zend_hash_num_elements(values) == 0) {
		RETVAL_TRUE;
	} else {
		RETVAL_BOOL(terms.ttl < 0 ? delete_keys_of(SELF, values) : set_all(SELF, values, &terms));
	}
	hearth_cache_terms_free(&terms);
}

ZEND_METHOD(Hearth_Cache, deleteMultiple)
{
	HashTable *names;
	hearth_cache_keys keys;

	ZEND_PARSE_PARAMETERS_START(1, 1)
		Z_PARAM_ARRAY_HT(names)
	ZEND_PARSE_PARAMETERS_END();
	if (keys_of(&keys, SELF, names)) {
		RETVAL_LONG(delete_all(&keys));
		hearth_cache_keys_end(&keys);
	}
}

ZEND_METHOD(Hearth_Cache, deleteTags)
{
	HashTable *names;
	hearth_cache_keys tags;
	size_t deleted = 0;

	ZEND_PARSE_PARAMETERS_START(1, 1)
		Z_PARAM_ARRAY_HT(names)
	ZEND_PARSE_PARAMETERS_END();
	if (!keys_of(&tags, SELF, names)) {
		return;
	}
	if (tags.count > 0) {
		hearth_cache_done(hearth_on_cache_delete_tags(tags.list, tags.count, &deleted), 0);
	}
	RETVAL_LONG((zend_long) deleted);
	hearth_cache_keys_end(&tags);
}
