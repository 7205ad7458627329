/* Methods of Hearth\Cache for several keys: the store is asked once for all of them. */
#include "cache/cache.h"

#define SELF hearth_cache_object_of(Z_OBJ_P(ZEND_THIS))

/* Keys as the caller has them, and as the store does. */
typedef struct {
	size_t count;
	zend_string **names, **full;
	hearth_str *list;
} key_list;

static void keys_begin(key_list *keys, size_t most)
{
	keys->count = 0;
	keys->names = safe_emalloc(most, sizeof *keys->names, 1);
	keys->full = safe_emalloc(most, sizeof *keys->full, 1);
	keys->list = safe_emalloc(most, sizeof *keys->list, 1);
}

static void keys_end(key_list *keys)
{
	for (size_t i = 0; i < keys->count; i++) {
		zend_string_release(keys->names[i]);
		zend_string_release(keys->full[i]);
	}
	efree(keys->names);
	efree(keys->full);
	efree(keys->list);
}

/* Takes `name`; false: an exception is under way. */
static bool keys_add(key_list *keys, const hearth_cache_object *self, zend_string *name)
{
	hearth_cache_key key;
	zend_string *full;

	if (!name || !hearth_cache_key_of(self, name, 1, &key)) {
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

/* Numbers are keys too, as PHP makes them of what looks like one. */
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

/* Ends them where it is false: an exception is under way. */
static bool keys_of(key_list *keys, const hearth_cache_object *self, HashTable *names)
{
	zval *name;

	keys_begin(keys, zend_hash_num_elements(names));
	ZEND_HASH_FOREACH_VAL(names, name) {
		if (!keys_add(keys, self, key_in(name))) {
			keys_end(keys);
			return false;
		}
	} ZEND_HASH_FOREACH_END();
	return true;
}

/* ---- reading ---- */

/* Values without objects at once; of the others the bytes, because what makes them again runs code. */
static void take(const key_list *keys, const hearth_cache_found *found, zval *out)
{
	for (size_t i = 0; i < keys->count; i++) {
		if (found[i].form == HEARTH_CACHE_SERIALIZED) {
			ZVAL_NEW_STR(&out[i], zend_string_init(found[i].bytes.ptr, found[i].bytes.len, 0));
		} else if (found[i].form == HEARTH_CACHE_NOTHING || !hearth_cache_copy_make(keys->list[i], &found[i], &out[i])) {
			ZVAL_UNDEF(&out[i]);
		}
	}
}

static void make_object(hearth_str key, zval *out)
{
	zend_string *bytes = Z_STR_P(out);

	if (!hearth_cache_unserialize(bytes, out)) {
		ZVAL_UNDEF(out);
		hearth_cache_forget(key);
	}
	zend_string_release(bytes);
}

/* What the copies of this process do not have; false: an exception is under way. */
static bool read_all(const key_list *keys, zval *out)
{
	hearth_cache_found *found = safe_emalloc(keys->count, sizeof *found, 0);
	bool done;

	memset(found, 0, keys->count * sizeof *found);
	done = hearth_cache_done(hearth_on_cache_read_many(keys->list, keys->count, found), 0);
	if (done) {
		take(keys, found, out);
	}
	/* What is left as bytes after an exception is thrown away by the caller. */
	for (size_t i = 0; done && i < keys->count && !EG(exception); i++) {
		if (found[i].form == HEARTH_CACHE_SERIALIZED) {
			make_object(keys->list[i], &out[i]);
		}
	}
	efree(found);
	return done && !EG(exception);
}

bool hearth_cache_fetch_many(const hearth_cache_object *self, zend_string **names, size_t count, zval *out)
{
	size_t *places = safe_emalloc(count, sizeof *places, 1);
	zval *read = safe_emalloc(count, sizeof *read, 1);
	key_list keys;
	uint64_t stale;
	bool fine = true;

	keys_begin(&keys, count);
	for (size_t i = 0; i < count; i++) {
		ZVAL_UNDEF(&out[i]);
		if (fine && !hearth_cache_copy_get(self, names[i], &out[i], &stale)) {
			places[keys.count] = i;
			ZVAL_UNDEF(&read[keys.count]);
			fine = keys_add(&keys, self, zend_string_copy(names[i]));
		}
	}
	fine = fine && (keys.count == 0 || read_all(&keys, read));
	for (size_t i = 0; i < keys.count; i++) {
		ZVAL_COPY_VALUE(&out[places[i]], &read[i]);
	}
	for (size_t i = 0; !fine && i < count; i++) {
		zval_ptr_dtor(&out[i]);
		ZVAL_UNDEF(&out[i]);
	}
	keys_end(&keys);
	efree(places);
	efree(read);
	return fine;
}

ZEND_METHOD(Hearth_Cache, getMultiple)
{
	zval *otherwise = NULL, *values;
	HashTable *names;
	key_list keys;

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
	keys_end(&keys);
}

/* ---- writing ---- */

typedef struct {
	hearth_cache_encoded *encoded;
	hearth_cache_write *writes;
	int *outcomes;
} write_list;

/* Serializing runs code, which may write to the variables that elements are references to. */
static bool encode_all(const hearth_cache_object *self, HashTable *values, key_list *keys, hearth_cache_encoded *encoded)
{
	zend_string *key;
	zend_ulong number;
	zval *value;

	ZEND_HASH_FOREACH_KEY_VAL(values, number, key, value) {
		size_t at = keys->count;

		if (!keys_add(keys, self, key ? zend_string_copy(key) : zend_long_to_str((zend_long) number))) {
			return false;
		}
		if (!hearth_cache_encode(value, 1, &encoded[at])) {
			return false;
		}
	} ZEND_HASH_FOREACH_END();
	return true;
}

/* Were all written? Raises what is a mistake of the caller's. */
static bool write_all(const key_list *keys, const hearth_cache_terms *terms, write_list *list)
{
	bool all = true;

	for (size_t i = 0; i < keys->count; i++) {
		list->outcomes[i] = HEARTH_CACHE_NO;
		list->writes[i] = (hearth_cache_write){
			.key = keys->list[i], .ttl = (uint64_t) terms->ttl, .tags = terms->tags.list, .tag_count = terms->tags.count,
			.form = list->encoded[i].form, .number = list->encoded[i].number, .bytes = hearth_cache_bytes(&list->encoded[i]),
		};
	}
	hearth_on_cache_write_many(list->writes, keys->count, list->outcomes);
	for (size_t i = 0; i < keys->count && !EG(exception); i++) {
		all &= hearth_cache_done(list->outcomes[i], list->writes[i].bytes.len);
	}
	return all;
}

static bool set_all(const hearth_cache_object *self, HashTable *values, const hearth_cache_terms *terms)
{
	size_t count = zend_hash_num_elements(values);
	write_list list = {
		.encoded = ecalloc(count, sizeof *list.encoded),
		.writes = safe_emalloc(count, sizeof *list.writes, 0),
		.outcomes = safe_emalloc(count, sizeof *list.outcomes, 0),
	};
	key_list keys;
	bool done;

	keys_begin(&keys, count);
	done = encode_all(self, values, &keys, list.encoded) && write_all(&keys, terms, &list);
	for (size_t i = 0; i < keys.count; i++) {
		hearth_cache_encoded_free(&list.encoded[i]);
	}
	keys_end(&keys);
	efree(list.encoded);
	efree(list.writes);
	efree(list.outcomes);
	return done;
}

/* How many there were. */
static size_t delete_all(const key_list *keys)
{
	size_t deleted = 0;

	if (keys->count > 0) {
		hearth_cache_done(hearth_on_cache_delete_many(keys->list, keys->count, &deleted), 0);
	}
	return deleted;
}

/* Over before they begin. */
static bool delete_keys_of(const hearth_cache_object *self, HashTable *values)
{
	zend_string *key;
	zend_ulong number;
	key_list keys;
	bool fine = true;

	keys_begin(&keys, zend_hash_num_elements(values));
	ZEND_HASH_FOREACH_KEY(values, number, key) {
		fine = fine && keys_add(&keys, self, key ? zend_string_copy(key) : zend_long_to_str((zend_long) number));
	} ZEND_HASH_FOREACH_END();
	if (fine) {
		delete_all(&keys);
	}
	keys_end(&keys);
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
	key_list keys;

	ZEND_PARSE_PARAMETERS_START(1, 1)
		Z_PARAM_ARRAY_HT(names)
	ZEND_PARSE_PARAMETERS_END();
	if (keys_of(&keys, SELF, names)) {
		RETVAL_LONG((zend_long) delete_all(&keys));
		keys_end(&keys);
	}
}
