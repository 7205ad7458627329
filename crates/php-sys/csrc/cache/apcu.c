/*
 * The functions of APCu on Hearth's cache, for code that knows only APCu: where `hearth.apcu` is on and APCu is not
 * loaded. Their entries are those of the namespace `apcu`. Results, warnings and refusals are as in APCu 5.1;
 * tests/it/apcu.rs compares both.
 */
#include "cache/apcu.h"
#include "cache/apcu_arginfo.h"

#include <ext/standard/md5.h>
#include <ext/standard/sha1.h>
#include <main/php_ini.h>

/* Bytes; longer keys, and keys that the cache refuses, are replaced by their hash. */
#define LONGEST_KEY 900

static bool is_on;
hearth_cache_object hearth_apcu;

bool hearth_has_apcu(void)
{
	return is_on;
}

/* ---- keys ---- */

zend_string *hearth_apcu_key(zend_string *key)
{
	unsigned char digest[20];
	char hex[41] = "";
	PHP_SHA1_CTX context;

	if (ZSTR_LEN(key) > 0 && ZSTR_LEN(key) <= LONGEST_KEY && !memchr(ZSTR_VAL(key), '\0', ZSTR_LEN(key))) {
		return zend_string_copy(key);
	}
	PHP_SHA1Init(&context);
	PHP_SHA1Update(&context, (const unsigned char *) ZSTR_VAL(key), ZSTR_LEN(key));
	PHP_SHA1Final(digest, &context);
	make_digest_ex(hex, digest, sizeof digest);
	return zend_strpprintf(0, "sha1:%s", hex);
}

static bool fetch(zend_string *name, zval *out)
{
	zend_string *key = hearth_apcu_key(name);
	uint64_t stale;
	bool is_there = hearth_cache_fetch(&hearth_apcu, key, out, &stale);

	zend_string_release(key);
	return is_there;
}

/* Runs no code of a value's objects. */
bool hearth_apcu_has(zend_string *name)
{
	zend_string *key = hearth_apcu_key(name);
	zval value;
	bool is_there = hearth_cache_check_many(&hearth_apcu, &key, 1, &value) && Z_TYPE(value) != IS_UNDEF;

	if (is_there) {
		zval_ptr_dtor(&value);
	}
	zend_string_release(key);
	return is_there;
}

/* ---- reading ---- */

ZEND_FUNCTION(hearth_apcu_fetch)
{
	zval *key, *success = NULL;
	bool is_there = false;

	ZEND_PARSE_PARAMETERS_START(1, 2)
		Z_PARAM_ZVAL(key)
		Z_PARAM_OPTIONAL
		Z_PARAM_ZVAL(success)
	ZEND_PARSE_PARAMETERS_END();
	if (Z_TYPE_P(key) == IS_ARRAY) {
		hearth_apcu_fetch_many(Z_ARRVAL_P(key), return_value);
		is_there = true;
	} else if (Z_TYPE_P(key) != IS_STRING && !try_convert_to_string(key)) {
		return;
	} else if (!(is_there = fetch(Z_STR_P(key), return_value))) {
		RETVAL_FALSE;
	}
	if (success) {
		ZEND_TRY_ASSIGN_REF_BOOL(success, is_there);
	}
}

ZEND_FUNCTION(Hearth_Internal_apcuPeek)
{
	HashTable *keys;

	ZEND_PARSE_PARAMETERS_START(1, 1)
		Z_PARAM_ARRAY_HT(keys)
	ZEND_PARSE_PARAMETERS_END();
	hearth_apcu_peek_many(keys, return_value);
}

ZEND_FUNCTION(hearth_apcu_exists)
{
	zval *key;

	ZEND_PARSE_PARAMETERS_START(1, 1)
		Z_PARAM_ZVAL(key)
	ZEND_PARSE_PARAMETERS_END();
	if (Z_TYPE_P(key) == IS_ARRAY) {
		hearth_apcu_exist_many(Z_ARRVAL_P(key), return_value);
	} else if (Z_TYPE_P(key) == IS_STRING || try_convert_to_string(key)) {
		RETURN_BOOL(hearth_apcu_has(Z_STR_P(key)));
	}
}

/* ---- registration ---- */

/* Libraries check these settings before they use the functions. */
PHP_INI_BEGIN()
	PHP_INI_ENTRY("apc.enabled", "1", PHP_INI_SYSTEM, NULL)
	PHP_INI_ENTRY("apc.enable_cli", "1", PHP_INI_SYSTEM, NULL)
PHP_INI_END()

static void register_constants(int module_number)
{
	static const struct { const char *name; zend_long value; } constants[] = {
		{"APC_LIST_ACTIVE", 1}, {"APC_LIST_DELETED", 2},
		{"APC_ITER_TYPE", 1 << 0}, {"APC_ITER_KEY", 1 << 1}, {"APC_ITER_VALUE", 1 << 2}, {"APC_ITER_NUM_HITS", 1 << 3},
		{"APC_ITER_MTIME", 1 << 4}, {"APC_ITER_CTIME", 1 << 5}, {"APC_ITER_DTIME", 1 << 6}, {"APC_ITER_ATIME", 1 << 7},
		{"APC_ITER_REFCOUNT", 1 << 8}, {"APC_ITER_MEM_SIZE", 1 << 9}, {"APC_ITER_TTL", 1 << 10},
		{"APC_ITER_NONE", 0}, {"APC_ITER_ALL", 0xffffffffLL},
	};

	for (size_t i = 0; i < sizeof constants / sizeof *constants; i++) {
		zend_register_long_constant(constants[i].name, strlen(constants[i].name), constants[i].value, CONST_PERSISTENT, module_number);
	}
}

void hearth_register_apcu(int module_number)
{
	zend_long enabled = 0;

	if (cfg_get_long("hearth.apcu", &enabled) == FAILURE || !enabled || zend_hash_str_exists(&module_registry, ZEND_STRL("apcu"))) {
		return;
	}
	is_on = true;
	hearth_apcu.prefix = zend_string_init(HEARTH_APCU_PREFIX, HEARTH_APCU_PREFIX_LENGTH, 1);
	zend_register_ini_entries(ini_entries, module_number);
	register_constants(module_number);
	zend_register_functions(NULL, ext_functions, NULL, MODULE_PERSISTENT);
}
