/* This is a generated file, edit the .stub.php file instead.
 * Stub hash: 68be8a5e3f1dbf2c5739b815b67a9181251a8162 */

ZEND_BEGIN_ARG_INFO_EX(arginfo_class_Hearth_Session___construct, 0, 0, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, path, IS_STRING, 0, "\'\'")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, lifetime, IS_LONG, 1, "null")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Hearth_Session_open, 0, 2, _IS_BOOL, 0)
	ZEND_ARG_TYPE_INFO(0, path, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO(0, name, IS_STRING, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Hearth_Session_close, 0, 0, _IS_BOOL, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_class_Hearth_Session_read, 0, 1, MAY_BE_STRING|MAY_BE_FALSE)
	ZEND_ARG_TYPE_INFO(0, id, IS_STRING, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Hearth_Session_write, 0, 2, _IS_BOOL, 0)
	ZEND_ARG_TYPE_INFO(0, id, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO(0, data, IS_STRING, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Hearth_Session_destroy, 0, 1, _IS_BOOL, 0)
	ZEND_ARG_TYPE_INFO(0, id, IS_STRING, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_class_Hearth_Session_gc, 0, 1, MAY_BE_LONG|MAY_BE_FALSE)
	ZEND_ARG_TYPE_INFO(0, max_lifetime, IS_LONG, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Hearth_Session_create_sid, 0, 0, IS_STRING, 0)
ZEND_END_ARG_INFO()

#define arginfo_class_Hearth_Session_validateId arginfo_class_Hearth_Session_destroy

#define arginfo_class_Hearth_Session_updateTimestamp arginfo_class_Hearth_Session_write


ZEND_METHOD(Hearth_Session, __construct);
ZEND_METHOD(Hearth_Session, open);
ZEND_METHOD(Hearth_Session, close);
ZEND_METHOD(Hearth_Session, read);
ZEND_METHOD(Hearth_Session, write);
ZEND_METHOD(Hearth_Session, destroy);
ZEND_METHOD(Hearth_Session, gc);
ZEND_METHOD(Hearth_Session, create_sid);
ZEND_METHOD(Hearth_Session, validateId);
ZEND_METHOD(Hearth_Session, updateTimestamp);


static const zend_function_entry class_Hearth_Session_methods[] = {
	ZEND_ME(Hearth_Session, __construct, arginfo_class_Hearth_Session___construct, ZEND_ACC_PUBLIC)
	ZEND_ME(Hearth_Session, open, arginfo_class_Hearth_Session_open, ZEND_ACC_PUBLIC)
	ZEND_ME(Hearth_Session, close, arginfo_class_Hearth_Session_close, ZEND_ACC_PUBLIC)
	ZEND_ME(Hearth_Session, read, arginfo_class_Hearth_Session_read, ZEND_ACC_PUBLIC)
	ZEND_ME(Hearth_Session, write, arginfo_class_Hearth_Session_write, ZEND_ACC_PUBLIC)
	ZEND_ME(Hearth_Session, destroy, arginfo_class_Hearth_Session_destroy, ZEND_ACC_PUBLIC)
	ZEND_ME(Hearth_Session, gc, arginfo_class_Hearth_Session_gc, ZEND_ACC_PUBLIC)
	ZEND_ME(Hearth_Session, create_sid, arginfo_class_Hearth_Session_create_sid, ZEND_ACC_PUBLIC)
	ZEND_ME(Hearth_Session, validateId, arginfo_class_Hearth_Session_validateId, ZEND_ACC_PUBLIC)
	ZEND_ME(Hearth_Session, updateTimestamp, arginfo_class_Hearth_Session_updateTimestamp, ZEND_ACC_PUBLIC)
	ZEND_FE_END
};
