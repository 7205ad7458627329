/* This is a generated file, edit the .stub.php file instead.
 * Stub hash: 67c1194567ac873e5054a06dac296cc1fd609fb1 */

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_Hearth_Internal_preloadedFilesUsed, 0, 0, IS_ARRAY, 0)
ZEND_END_ARG_INFO()


ZEND_FUNCTION(Hearth_Internal_preloadedFilesUsed);


static const zend_function_entry ext_functions[] = {
	ZEND_NS_FALIAS("Hearth\\Internal", preloadedFilesUsed, Hearth_Internal_preloadedFilesUsed, arginfo_Hearth_Internal_preloadedFilesUsed)
	ZEND_FE_END
};
