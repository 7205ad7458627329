/* This is a generated file, edit the .stub.php file instead.
 * Stub hash: aee1f6df0c229470a2abbdd601432d2a7b6e799d */

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_apcu_store, 0, 1, MAY_BE_ARRAY|MAY_BE_BOOL)
	ZEND_ARG_INFO(0, key)
	ZEND_ARG_TYPE_INFO(0, value, IS_MIXED, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, ttl, IS_LONG, 0, "0")
ZEND_END_ARG_INFO()

#define arginfo_apcu_add arginfo_apcu_store

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_apcu_fetch, 0, 1, IS_MIXED, 0)
	ZEND_ARG_INFO(0, key)
	ZEND_ARG_INFO_WITH_DEFAULT_VALUE(1, success, "null")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_apcu_exists, 0, 1, MAY_BE_ARRAY|MAY_BE_BOOL)
	ZEND_ARG_INFO(0, key)
ZEND_END_ARG_INFO()

#define arginfo_apcu_delete arginfo_apcu_exists

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_apcu_inc, 0, 1, MAY_BE_LONG|MAY_BE_FALSE)
	ZEND_ARG_TYPE_INFO(0, key, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, step, IS_LONG, 0, "1")
	ZEND_ARG_INFO_WITH_DEFAULT_VALUE(1, success, "null")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, ttl, IS_LONG, 0, "0")
ZEND_END_ARG_INFO()

#define arginfo_apcu_dec arginfo_apcu_inc

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_apcu_cas, 0, 3, _IS_BOOL, 0)
	ZEND_ARG_TYPE_INFO(0, key, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO(0, old, IS_LONG, 0)
	ZEND_ARG_TYPE_INFO(0, new, IS_LONG, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_apcu_entry, 0, 2, IS_MIXED, 0)
	ZEND_ARG_TYPE_INFO(0, key, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO(0, callback, IS_CALLABLE, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, ttl, IS_LONG, 0, "0")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_apcu_clear_cache, 0, 0, _IS_BOOL, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_apcu_cache_info, 0, 0, MAY_BE_ARRAY|MAY_BE_FALSE)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, limited, _IS_BOOL, 0, "false")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_apcu_key_info, 0, 1, IS_ARRAY, 1)
	ZEND_ARG_TYPE_INFO(0, key, IS_STRING, 0)
ZEND_END_ARG_INFO()

#define arginfo_apcu_sma_info arginfo_apcu_cache_info

#define arginfo_apcu_enabled arginfo_apcu_clear_cache

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_Hearth_Internal_apcuPeek, 0, 1, IS_ARRAY, 0)
	ZEND_ARG_TYPE_INFO(0, keys, IS_ARRAY, 0)
ZEND_END_ARG_INFO()


ZEND_FUNCTION(hearth_apcu_store);
ZEND_FUNCTION(hearth_apcu_add);
ZEND_FUNCTION(hearth_apcu_fetch);
ZEND_FUNCTION(hearth_apcu_exists);
ZEND_FUNCTION(hearth_apcu_delete);
ZEND_FUNCTION(hearth_apcu_inc);
ZEND_FUNCTION(hearth_apcu_dec);
ZEND_FUNCTION(hearth_apcu_cas);
ZEND_FUNCTION(hearth_apcu_entry);
ZEND_FUNCTION(hearth_apcu_clear_cache);
ZEND_FUNCTION(hearth_apcu_cache_info);
ZEND_FUNCTION(hearth_apcu_key_info);
ZEND_FUNCTION(hearth_apcu_sma_info);
ZEND_FUNCTION(hearth_apcu_enabled);
ZEND_FUNCTION(Hearth_Internal_apcuPeek);


static const zend_function_entry ext_functions[] = {
	ZEND_FALIAS(apcu_store, hearth_apcu_store, arginfo_apcu_store)
	ZEND_FALIAS(apcu_add, hearth_apcu_add, arginfo_apcu_add)
	ZEND_FALIAS(apcu_fetch, hearth_apcu_fetch, arginfo_apcu_fetch)
	ZEND_FALIAS(apcu_exists, hearth_apcu_exists, arginfo_apcu_exists)
	ZEND_FALIAS(apcu_delete, hearth_apcu_delete, arginfo_apcu_delete)
	ZEND_FALIAS(apcu_inc, hearth_apcu_inc, arginfo_apcu_inc)
	ZEND_FALIAS(apcu_dec, hearth_apcu_dec, arginfo_apcu_dec)
	ZEND_FALIAS(apcu_cas, hearth_apcu_cas, arginfo_apcu_cas)
	ZEND_FALIAS(apcu_entry, hearth_apcu_entry, arginfo_apcu_entry)
	ZEND_FALIAS(apcu_clear_cache, hearth_apcu_clear_cache, arginfo_apcu_clear_cache)
	ZEND_FALIAS(apcu_cache_info, hearth_apcu_cache_info, arginfo_apcu_cache_info)
	ZEND_FALIAS(apcu_key_info, hearth_apcu_key_info, arginfo_apcu_key_info)
	ZEND_FALIAS(apcu_sma_info, hearth_apcu_sma_info, arginfo_apcu_sma_info)
	ZEND_FALIAS(apcu_enabled, hearth_apcu_enabled, arginfo_apcu_enabled)
	ZEND_NS_FALIAS("Hearth\\Internal", apcuPeek, Hearth_Internal_apcuPeek, arginfo_Hearth_Internal_apcuPeek)
	ZEND_FE_END
};
