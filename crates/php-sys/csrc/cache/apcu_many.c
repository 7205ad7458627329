/* Functions of APCu for several keys: the store is asked once for all keys. */
#include "cache/apcu.h"

/* The caller's list, in its order, and the valid keys in it. */
typedef struct {
	size_t count;
	zval *given;
	hearth_cache_keys keys;
} given_keys;

/* Copies the list: error handlers may write to the variables that its keys are references to. */
static void given_begin(given_keys *out, HashTable *list, const char *mistake)
{
	size_t most = zend_hash_num_elements(list);
	zval *variable;

	out->count = 0;
	out->given = safe_emalloc(most, sizeof *out->given, 1);
	hearth_cache_keys_begin(&out->keys, most);
	ZEND_HASH_FOREACH_VAL(list, variable) {
		zval *key = &out->given[out->count++];

		ZVAL_COPY_DEREF(key, variable);
		if (Z_TYPE_P(key) == IS_STRING) {
			hearth_cache_keys_add(&out->keys, &hearth_apcu, hearth_apcu_key(Z_STR_P(key)));
		} else {
			php_error_docref(NULL, E_WARNING, "%s", mistake);
		}
		if (EG(exception)) {
			break;
		}
	} ZEND_HASH_FOREACH_END();
}

static void given_end(given_keys *keys)
{
	for (size_t i = 0; i < keys->count; i++) {
		zval_ptr_dtor(&keys->given[i]);
	}
	efree(keys->given);
	hearth_cache_keys_end(&keys->keys);
}

typedef bool (*read_many)(const hearth_cache_object *self, zend_string **names, size_t count, zval *out);

/* Returns the values by those keys that exist; or, where existence is only checked, true for each of them. */
static void read_all(HashTable *list, const char *mistake, read_many read, zval *return_value)
{
	bool only_true = read == hearth_cache_check_many;
	given_keys keys;
	zval *values;

	array_init(return_value);
	given_begin(&keys, list, mistake);
	values = safe_emalloc(keys.keys.count, sizeof *values, 1);
	if (!EG(exception) && read(&hearth_apcu, keys.keys.names, keys.keys.count, values)) {
		zval *value = values;

		for (size_t i = 0; i < keys.count; i++) {
			if (Z_TYPE(keys.given[i]) != IS_STRING) {
				continue;
			}
			if (Z_TYPE_P(value) != IS_UNDEF && only_true) {
				zval_ptr_dtor(value);
				ZVAL_TRUE(value);
			}
			if (Z_TYPE_P(value) != IS_UNDEF) {
				zend_symtable_update(Z_ARRVAL_P(return_value), Z_STR(keys.given[i]), value);
			}
			value++;
		}
	}
	efree(values);
	given_end(&keys);
}

void hearth_apcu_fetch_many(HashTable *list, zval *return_value)
{
	read_all(list, "apc_fetch() expects a string or array of strings.", hearth_cache_fetch_many, return_value);
}

void hearth_apcu_peek_many(HashTable *list, zval *return_value)
{
	read_all(list, "", hearth_cache_peek_many, return_value);
}

void hearth_apcu_exist_many(HashTable *list, zval *return_value)
{
	read_all(list, "apc_exists() expects a string or array of strings.", hearth_cache_check_many, return_value);
}

/* Deletes the keys, and returns those that did not exist. */
void hearth_apcu_delete_many(HashTable *list, zval *return_value)
{
	given_keys keys;
	bool *deleted, *was_there;

	array_init(return_value);
	given_begin(&keys, list, HEARTH_APCU_DELETE_MISTAKE);
	was_there = deleted = safe_emalloc(keys.keys.count, sizeof *deleted, 1);
	if (!EG(exception)) {
		hearth_cache_delete_many(&keys.keys, deleted);
	}
	for (size_t i = 0; i < keys.count && !EG(exception); i++) {
		if (Z_TYPE(keys.given[i]) != IS_STRING || !*was_there++) {
			Z_TRY_ADDREF(keys.given[i]);
			add_next_index_zval(return_value, &keys.given[i]);
		}
	}
	efree(deleted);
	given_end(&keys);
}

/* ---- writing ---- */

/* The caller's names, and the encoded values; a value that cannot be kept is in neither. */
typedef struct {
	zend_string **names;
	hearth_cache_encoded *encoded;
	hearth_cache_keys keys;
} given_values;

static void add_failed(zval *failed, zend_string *name)
{
	zval mark;

	ZVAL_LONG(&mark, -1);
	zend_symtable_update(Z_ARRVAL_P(failed), name, &mark);
}

/* False: the value cannot be kept. An exception is pending then if the value's own code has thrown it. */
static bool encode(zval *value, hearth_cache_encoded *out)
{
	if (hearth_apcu_refuses(value)) {
		return false;
	}
	if (hearth_cache_encode(value, 2, out)) {
		return true;
	}
	if (EG(exception)->ce == zend_ce_value_error) {
		zend_clear_exception();
	}
	return false;
}

/* Encodes the values, up to the first whose own code throws. */
static void encode_all(given_values *out, HashTable *values, zval *failed)
{
	zend_string *key;
	zend_ulong number;
	zval *value;

	ZEND_HASH_FOREACH_KEY_VAL(values, number, key, value) {
		zend_string *name = key ? zend_string_copy(key) : zend_long_to_str((zend_long) number);
		size_t at = out->keys.count;

		if (encode(value, &out->encoded[at])) {
			out->names[at] = name;
			hearth_cache_keys_add(&out->keys, &hearth_apcu, hearth_apcu_key(name));
			continue;
		}
		add_failed(failed, name);
		zend_string_release(name);
		if (EG(exception)) {
			return;
		}
	} ZEND_HASH_FOREACH_END();
}

static void write_all(given_values *list, const hearth_cache_terms *terms, int condition, zval *failed)
{
	size_t count = list->keys.count;
	int *outcomes = safe_emalloc(count, sizeof *outcomes, 1);

	hearth_cache_write_many(&list->keys, list->encoded, terms, condition, false, outcomes);
	for (size_t i = 0; i < count; i++) {
		if (outcomes[i] != HEARTH_CACHE_YES) {
			add_failed(failed, list->names[i]);
		}
	}
	efree(outcomes);
}

/* Writes with a negative ttl: an existing value is deleted, or counts as a failure of add. */
static void write_over(given_values *list, int condition, zval *failed)
{
	size_t count = list->keys.count;
	zval *there = safe_emalloc(count, sizeof *there, 1);
	bool *deleted = safe_emalloc(count, sizeof *deleted, 1);

	if (condition == HEARTH_CACHE_ALWAYS) {
		hearth_cache_delete_many(&list->keys, deleted);
	} else if (hearth_cache_check_many(&hearth_apcu, list->keys.names, count, there)) {
		for (size_t i = 0; i < count; i++) {
			if (Z_TYPE(there[i]) != IS_UNDEF) {
				add_failed(failed, list->names[i]);
				zval_ptr_dtor(&there[i]);
			}
		}
	}
	efree(deleted);
	efree(there);
}

void hearth_apcu_store_many(HashTable *values, const hearth_cache_terms *terms, int condition, zval *return_value)
{
	size_t most = zend_hash_num_elements(values);
	given_values list = {
		.names = safe_emalloc(most, sizeof *list.names, 1),
		.encoded = safe_emalloc(most, sizeof *list.encoded, 1),
	};

	array_init(return_value);
	hearth_cache_keys_begin(&list.keys, most);
	encode_all(&list, values, return_value);
	/* Values before the one that throws are stored, as in APCu. */
	zend_exception_save();
	if (list.keys.count > 0) {
		terms->ttl < 0 ? write_over(&list, condition, return_value) : write_all(&list, terms, condition, return_value);
	}
	zend_exception_restore();
	for (size_t i = 0; i < list.keys.count; i++) {
		zend_string_release(list.names[i]);
		hearth_cache_encoded_free(&list.encoded[i]);
	}
	hearth_cache_keys_end(&list.keys);
	efree(list.names);
	efree(list.encoded);
}
