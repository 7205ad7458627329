/* This is a generated file, edit the .stub.php file instead.
 * Stub hash: 3be3f79e2a2a58e0a911462edd998de59fe51276 */

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_Hearth_Internal_preloadFacts, 0, 1, IS_ARRAY, 0)
	ZEND_ARG_TYPE_INFO(0, file, IS_STRING, 0)
ZEND_END_ARG_INFO()


ZEND_FUNCTION(Hearth_Internal_preloadFacts);


static const zend_function_entry ext_functions[] = {
	ZEND_NS_FALIAS("Hearth\\Internal", preloadFacts, Hearth_Internal_preloadFacts, arginfo_Hearth_Internal_preloadFacts)
	ZEND_FE_END
};
