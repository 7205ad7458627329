/* This is a generated file, edit the .stub.php file instead.
 * Stub hash: 88f09eae891e2a1df15c4381a66d045d9c319879 */

ZEND_BEGIN_ARG_INFO_EX(arginfo_class_Hearth_Internal_LeaseTable___construct, 0, 0, 7)
	ZEND_ARG_TYPE_INFO(0, name, IS_STRING, 0)
	ZEND_ARG_OBJ_INFO(0, waiters, Hearth\\Internal\\WaitQueue, 0)
	ZEND_ARG_OBJ_INFO(0, borrowTime, Hearth\\Internal\\Histogram, 0)
	ZEND_ARG_OBJ_INFO(0, useTime, Hearth\\Internal\\Histogram, 0)
	ZEND_ARG_OBJ_INFO(0, returned, Closure, 0)
	ZEND_ARG_TYPE_INFO(0, binds, _IS_BOOL, 0)
	ZEND_ARG_TYPE_INFO(0, autoReturn, _IS_BOOL, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_INFO_EX(arginfo_class_Hearth_Internal_LeaseTable_current, 0, 0, Hearth\\Pool\\Entry, 1)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_INFO_EX(arginfo_class_Hearth_Internal_LeaseTable_find, 0, 1, Hearth\\Pool\\Entry, 1)
	ZEND_ARG_TYPE_INFO(0, connection, IS_OBJECT, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_INFO_EX(arginfo_class_Hearth_Internal_LeaseTable_of, 0, 1, Hearth\\Pool\\Entry, 1)
	ZEND_ARG_TYPE_INFO(0, task, IS_LONG, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Hearth_Internal_LeaseTable_lend, 0, 2, IS_VOID, 0)
	ZEND_ARG_OBJ_INFO(0, entry, Hearth\\Pool\\Entry, 0)
	ZEND_ARG_TYPE_INFO(0, since, IS_DOUBLE, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, now, IS_DOUBLE, 1, "null")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Hearth_Internal_LeaseTable_takeBack, 0, 1, _IS_BOOL, 1)
	ZEND_ARG_OBJ_INFO(0, entry, Hearth\\Pool\\Entry, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Hearth_Internal_LeaseTable_forget, 0, 1, IS_VOID, 0)
	ZEND_ARG_OBJ_INFO(0, entry, Hearth\\Pool\\Entry, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Hearth_Internal_LeaseTable_begin, 0, 0, IS_VOID, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Hearth_Internal_LeaseTable_handOn, 0, 1, IS_VOID, 0)
	ZEND_ARG_TYPE_INFO(0, handsOn, _IS_BOOL, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Hearth_Internal_LeaseTable_know, 0, 2, IS_VOID, 0)
	ZEND_ARG_TYPE_INFO(0, resets, _IS_BOOL, 0)
	ZEND_ARG_TYPE_INFO(0, shows, _IS_BOOL, 0)
ZEND_END_ARG_INFO()


ZEND_METHOD(Hearth_Internal_LeaseTable, __construct);
ZEND_METHOD(Hearth_Internal_LeaseTable, current);
ZEND_METHOD(Hearth_Internal_LeaseTable, find);
ZEND_METHOD(Hearth_Internal_LeaseTable, of);
ZEND_METHOD(Hearth_Internal_LeaseTable, lend);
ZEND_METHOD(Hearth_Internal_LeaseTable, takeBack);
ZEND_METHOD(Hearth_Internal_LeaseTable, forget);
ZEND_METHOD(Hearth_Internal_LeaseTable, begin);
ZEND_METHOD(Hearth_Internal_LeaseTable, handOn);
ZEND_METHOD(Hearth_Internal_LeaseTable, know);


static const zend_function_entry class_Hearth_Internal_LeaseTable_methods[] = {
	ZEND_ME(Hearth_Internal_LeaseTable, __construct, arginfo_class_Hearth_Internal_LeaseTable___construct, ZEND_ACC_PUBLIC)
	ZEND_ME(Hearth_Internal_LeaseTable, current, arginfo_class_Hearth_Internal_LeaseTable_current, ZEND_ACC_PUBLIC)
	ZEND_ME(Hearth_Internal_LeaseTable, find, arginfo_class_Hearth_Internal_LeaseTable_find, ZEND_ACC_PUBLIC)
	ZEND_ME(Hearth_Internal_LeaseTable, of, arginfo_class_Hearth_Internal_LeaseTable_of, ZEND_ACC_PUBLIC)
	ZEND_ME(Hearth_Internal_LeaseTable, lend, arginfo_class_Hearth_Internal_LeaseTable_lend, ZEND_ACC_PUBLIC)
	ZEND_ME(Hearth_Internal_LeaseTable, takeBack, arginfo_class_Hearth_Internal_LeaseTable_takeBack, ZEND_ACC_PUBLIC)
	ZEND_ME(Hearth_Internal_LeaseTable, forget, arginfo_class_Hearth_Internal_LeaseTable_forget, ZEND_ACC_PUBLIC)
	ZEND_ME(Hearth_Internal_LeaseTable, begin, arginfo_class_Hearth_Internal_LeaseTable_begin, ZEND_ACC_PUBLIC)
	ZEND_ME(Hearth_Internal_LeaseTable, handOn, arginfo_class_Hearth_Internal_LeaseTable_handOn, ZEND_ACC_PUBLIC)
	ZEND_ME(Hearth_Internal_LeaseTable, know, arginfo_class_Hearth_Internal_LeaseTable_know, ZEND_ACC_PUBLIC)
	ZEND_FE_END
};
