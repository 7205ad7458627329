/* This is a generated file, edit the .stub.php file instead.
 * Stub hash: 49c442fd0e0eb5cce4b4ea148864ab58613ba8c9 */

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Hearth_Internal_WaitQueue_wait, 0, 2, IS_MIXED, 0)
	ZEND_ARG_TYPE_INFO(0, timeout, IS_DOUBLE, 1)
	ZEND_ARG_OBJ_INFO(0, passOn, Closure, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, offer, IS_MIXED, 0, "null")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, since, IS_DOUBLE, 1, "null")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Hearth_Internal_WaitQueue_serve, 0, 1, IS_LONG, 0)
	ZEND_ARG_TYPE_INFO(0, value, IS_MIXED, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(1, offer, IS_MIXED, 0, "null")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Hearth_Internal_WaitQueue_count, 0, 0, IS_LONG, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Hearth_Internal_WaitQueue_oldest, 0, 0, IS_DOUBLE, 1)
ZEND_END_ARG_INFO()


ZEND_METHOD(Hearth_Internal_WaitQueue, wait);
ZEND_METHOD(Hearth_Internal_WaitQueue, serve);
ZEND_METHOD(Hearth_Internal_WaitQueue, count);
ZEND_METHOD(Hearth_Internal_WaitQueue, oldest);


static const zend_function_entry class_Hearth_Internal_WaitQueue_methods[] = {
	ZEND_ME(Hearth_Internal_WaitQueue, wait, arginfo_class_Hearth_Internal_WaitQueue_wait, ZEND_ACC_PUBLIC)
	ZEND_ME(Hearth_Internal_WaitQueue, serve, arginfo_class_Hearth_Internal_WaitQueue_serve, ZEND_ACC_PUBLIC)
	ZEND_ME(Hearth_Internal_WaitQueue, count, arginfo_class_Hearth_Internal_WaitQueue_count, ZEND_ACC_PUBLIC)
	ZEND_ME(Hearth_Internal_WaitQueue, oldest, arginfo_class_Hearth_Internal_WaitQueue_oldest, ZEND_ACC_PUBLIC)
	ZEND_FE_END
};
