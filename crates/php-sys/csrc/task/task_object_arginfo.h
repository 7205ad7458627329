/* This is a generated file, edit the .stub.php file instead.
 * Stub hash: 199804f485207882d7f99db9edbd62d61655640e */

ZEND_BEGIN_ARG_INFO_EX(arginfo_class_Hearth_Task___construct, 0, 0, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Hearth_Task_await, 0, 0, IS_MIXED, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, timeout, IS_DOUBLE, 1, "null")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Hearth_Task_cancel, 0, 0, IS_VOID, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Hearth_Task_isDone, 0, 0, _IS_BOOL, 0)
ZEND_END_ARG_INFO()


ZEND_METHOD(Hearth_Task, __construct);
ZEND_METHOD(Hearth_Task, await);
ZEND_METHOD(Hearth_Task, cancel);
ZEND_METHOD(Hearth_Task, isDone);


static const zend_function_entry class_Hearth_Task_methods[] = {
	ZEND_ME(Hearth_Task, __construct, arginfo_class_Hearth_Task___construct, ZEND_ACC_PRIVATE)
	ZEND_ME(Hearth_Task, await, arginfo_class_Hearth_Task_await, ZEND_ACC_PUBLIC)
	ZEND_ME(Hearth_Task, cancel, arginfo_class_Hearth_Task_cancel, ZEND_ACC_PUBLIC)
	ZEND_ME(Hearth_Task, isDone, arginfo_class_Hearth_Task_isDone, ZEND_ACC_PUBLIC)
	ZEND_FE_END
};
