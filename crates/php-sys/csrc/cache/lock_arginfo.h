/* This is a generated file, edit the .stub.php file instead.
 * Stub hash: 7c17d2c2ca7ed33e0028407ebeb793e500f479cd */

ZEND_BEGIN_ARG_INFO_EX(arginfo_class_Hearth_CacheLock___construct, 0, 0, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Hearth_CacheLock_token, 0, 0, IS_LONG, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Hearth_CacheLock_isHeld, 0, 0, _IS_BOOL, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Hearth_CacheLock_extend, 0, 1, _IS_BOOL, 0)
	ZEND_ARG_TYPE_INFO(0, ttl, IS_DOUBLE, 0)
ZEND_END_ARG_INFO()

#define arginfo_class_Hearth_CacheLock_release arginfo_class_Hearth_CacheLock_isHeld


ZEND_METHOD(Hearth_CacheLock, __construct);
ZEND_METHOD(Hearth_CacheLock, token);
ZEND_METHOD(Hearth_CacheLock, isHeld);
ZEND_METHOD(Hearth_CacheLock, extend);
ZEND_METHOD(Hearth_CacheLock, release);


static const zend_function_entry class_Hearth_CacheLock_methods[] = {
	ZEND_ME(Hearth_CacheLock, __construct, arginfo_class_Hearth_CacheLock___construct, ZEND_ACC_PRIVATE)
	ZEND_ME(Hearth_CacheLock, token, arginfo_class_Hearth_CacheLock_token, ZEND_ACC_PUBLIC)
	ZEND_ME(Hearth_CacheLock, isHeld, arginfo_class_Hearth_CacheLock_isHeld, ZEND_ACC_PUBLIC)
	ZEND_ME(Hearth_CacheLock, extend, arginfo_class_Hearth_CacheLock_extend, ZEND_ACC_PUBLIC)
	ZEND_ME(Hearth_CacheLock, release, arginfo_class_Hearth_CacheLock_release, ZEND_ACC_PUBLIC)
	ZEND_FE_END
};
