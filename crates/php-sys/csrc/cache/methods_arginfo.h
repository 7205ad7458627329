/* This is a generated file, edit the .stub.php file instead.
 * Stub hash: bf47025e390899620d49eac39a026a821cd6256a */

ZEND_BEGIN_ARG_INFO_EX(arginfo_class_Hearth_Cache___construct, 0, 0, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, namespace, IS_STRING, 1, "null")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_INFO_EX(arginfo_class_Hearth_Cache_namespace, 0, 1, Hearth\\Cache, 0)
	ZEND_ARG_TYPE_INFO(0, name, IS_STRING, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Hearth_Cache_get, 0, 1, IS_MIXED, 0)
	ZEND_ARG_TYPE_INFO(0, key, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, default, IS_MIXED, 0, "null")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Hearth_Cache_has, 0, 1, _IS_BOOL, 0)
	ZEND_ARG_TYPE_INFO(0, key, IS_STRING, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Hearth_Cache_getMultiple, 0, 1, IS_ARRAY, 0)
	ZEND_ARG_TYPE_INFO(0, keys, IS_ARRAY, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, default, IS_MIXED, 0, "null")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Hearth_Cache_set, 0, 2, _IS_BOOL, 0)
	ZEND_ARG_TYPE_INFO(0, key, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO(0, value, IS_MIXED, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, ttl, IS_DOUBLE, 1, "null")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, tags, IS_ARRAY, 0, "[]")
ZEND_END_ARG_INFO()

#define arginfo_class_Hearth_Cache_add arginfo_class_Hearth_Cache_set

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Hearth_Cache_setMultiple, 0, 1, _IS_BOOL, 0)
	ZEND_ARG_TYPE_INFO(0, values, IS_ARRAY, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, ttl, IS_DOUBLE, 1, "null")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, tags, IS_ARRAY, 0, "[]")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Hearth_Cache_compareAndSwap, 0, 3, _IS_BOOL, 0)
	ZEND_ARG_TYPE_INFO(0, key, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO(0, expected, IS_MIXED, 0)
	ZEND_ARG_TYPE_INFO(0, value, IS_MIXED, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, ttl, IS_DOUBLE, 1, "null")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, tags, IS_ARRAY, 0, "[]")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Hearth_Cache_increment, 0, 1, IS_LONG, 0)
	ZEND_ARG_TYPE_INFO(0, key, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, by, IS_LONG, 0, "1")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, ttl, IS_DOUBLE, 1, "null")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, tags, IS_ARRAY, 0, "[]")
ZEND_END_ARG_INFO()

#define arginfo_class_Hearth_Cache_decrement arginfo_class_Hearth_Cache_increment

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Hearth_Cache_remember, 0, 3, IS_MIXED, 0)
	ZEND_ARG_TYPE_INFO(0, key, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO(0, ttl, IS_DOUBLE, 1)
	ZEND_ARG_TYPE_INFO(0, compute, IS_CALLABLE, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, staleFor, IS_DOUBLE, 1, "null")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, tags, IS_ARRAY, 0, "[]")
ZEND_END_ARG_INFO()

#define arginfo_class_Hearth_Cache_delete arginfo_class_Hearth_Cache_has

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Hearth_Cache_deleteMultiple, 0, 1, IS_LONG, 0)
	ZEND_ARG_TYPE_INFO(0, keys, IS_ARRAY, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Hearth_Cache_deleteTag, 0, 1, _IS_BOOL, 0)
	ZEND_ARG_TYPE_INFO(0, tag, IS_STRING, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Hearth_Cache_deleteTags, 0, 1, IS_LONG, 0)
	ZEND_ARG_TYPE_INFO(0, tags, IS_ARRAY, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Hearth_Cache_clear, 0, 0, _IS_BOOL, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_INFO_EX(arginfo_class_Hearth_Cache_lock, 0, 2, Hearth\\CacheLock, 1)
	ZEND_ARG_TYPE_INFO(0, name, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO(0, ttl, IS_DOUBLE, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, wait, IS_DOUBLE, 0, "0.0")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, owner, IS_STRING, 1, "null")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_INFO_EX(arginfo_class_Hearth_Cache_heldLock, 0, 1, Hearth\\CacheLock, 1)
	ZEND_ARG_TYPE_INFO(0, name, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, owner, IS_STRING, 1, "null")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Hearth_Cache_stats, 0, 0, IS_ARRAY, 0)
ZEND_END_ARG_INFO()


ZEND_METHOD(Hearth_Cache, __construct);
ZEND_METHOD(Hearth_Cache, namespace);
ZEND_METHOD(Hearth_Cache, get);
ZEND_METHOD(Hearth_Cache, has);
ZEND_METHOD(Hearth_Cache, getMultiple);
ZEND_METHOD(Hearth_Cache, set);
ZEND_METHOD(Hearth_Cache, add);
ZEND_METHOD(Hearth_Cache, setMultiple);
ZEND_METHOD(Hearth_Cache, compareAndSwap);
ZEND_METHOD(Hearth_Cache, increment);
ZEND_METHOD(Hearth_Cache, decrement);
ZEND_METHOD(Hearth_Cache, remember);
ZEND_METHOD(Hearth_Cache, delete);
ZEND_METHOD(Hearth_Cache, deleteMultiple);
ZEND_METHOD(Hearth_Cache, deleteTag);
ZEND_METHOD(Hearth_Cache, deleteTags);
ZEND_METHOD(Hearth_Cache, clear);
ZEND_METHOD(Hearth_Cache, lock);
ZEND_METHOD(Hearth_Cache, heldLock);
ZEND_METHOD(Hearth_Cache, stats);


static const zend_function_entry class_Hearth_Cache_methods[] = {
	ZEND_ME(Hearth_Cache, __construct, arginfo_class_Hearth_Cache___construct, ZEND_ACC_PUBLIC)
	ZEND_ME(Hearth_Cache, namespace, arginfo_class_Hearth_Cache_namespace, ZEND_ACC_PUBLIC)
	ZEND_ME(Hearth_Cache, get, arginfo_class_Hearth_Cache_get, ZEND_ACC_PUBLIC)
	ZEND_ME(Hearth_Cache, has, arginfo_class_Hearth_Cache_has, ZEND_ACC_PUBLIC)
	ZEND_ME(Hearth_Cache, getMultiple, arginfo_class_Hearth_Cache_getMultiple, ZEND_ACC_PUBLIC)
	ZEND_ME(Hearth_Cache, set, arginfo_class_Hearth_Cache_set, ZEND_ACC_PUBLIC)
	ZEND_ME(Hearth_Cache, add, arginfo_class_Hearth_Cache_add, ZEND_ACC_PUBLIC)
	ZEND_ME(Hearth_Cache, setMultiple, arginfo_class_Hearth_Cache_setMultiple, ZEND_ACC_PUBLIC)
	ZEND_ME(Hearth_Cache, compareAndSwap, arginfo_class_Hearth_Cache_compareAndSwap, ZEND_ACC_PUBLIC)
	ZEND_ME(Hearth_Cache, increment, arginfo_class_Hearth_Cache_increment, ZEND_ACC_PUBLIC)
	ZEND_ME(Hearth_Cache, decrement, arginfo_class_Hearth_Cache_decrement, ZEND_ACC_PUBLIC)
	ZEND_ME(Hearth_Cache, remember, arginfo_class_Hearth_Cache_remember, ZEND_ACC_PUBLIC)
	ZEND_ME(Hearth_Cache, delete, arginfo_class_Hearth_Cache_delete, ZEND_ACC_PUBLIC)
	ZEND_ME(Hearth_Cache, deleteMultiple, arginfo_class_Hearth_Cache_deleteMultiple, ZEND_ACC_PUBLIC)
	ZEND_ME(Hearth_Cache, deleteTag, arginfo_class_Hearth_Cache_deleteTag, ZEND_ACC_PUBLIC)
	ZEND_ME(Hearth_Cache, deleteTags, arginfo_class_Hearth_Cache_deleteTags, ZEND_ACC_PUBLIC)
	ZEND_ME(Hearth_Cache, clear, arginfo_class_Hearth_Cache_clear, ZEND_ACC_PUBLIC)
	ZEND_ME(Hearth_Cache, lock, arginfo_class_Hearth_Cache_lock, ZEND_ACC_PUBLIC)
	ZEND_ME(Hearth_Cache, heldLock, arginfo_class_Hearth_Cache_heldLock, ZEND_ACC_PUBLIC)
	ZEND_ME(Hearth_Cache, stats, arginfo_class_Hearth_Cache_stats, ZEND_ACC_PUBLIC)
	ZEND_FE_END
};
