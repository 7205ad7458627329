/* This is a generated file, edit the .stub.php file instead.
 * Stub hash: 3675e4ec3d8e9d4c316ccece0003905d5cab0f0b */

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_dl, 0, 1, _IS_BOOL, 0)
	ZEND_ARG_TYPE_INFO(0, extension_filename, IS_STRING, 0)
ZEND_END_ARG_INFO()


ZEND_FUNCTION(dl);


static const zend_function_entry ext_functions[] = {
	ZEND_FE(dl, arginfo_dl)
	ZEND_FE_END
};
