/* This is a generated file, edit the .stub.php file instead.
 * Stub hash: e7f45e3b1e06bffbce31ba0a74c9737cb59cabf9 */

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_Hearth_Internal_stateTake, 0, 1, IS_VOID, 0)
	ZEND_ARG_TYPE_INFO(0, name, IS_STRING, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_Hearth_Internal_stateChanges, 0, 1, IS_ARRAY, 0)
	ZEND_ARG_TYPE_INFO(0, name, IS_STRING, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_Hearth_Internal_stateMemory, 0, 0, IS_ARRAY, 0)
ZEND_END_ARG_INFO()


ZEND_FUNCTION(Hearth_Internal_stateTake);
ZEND_FUNCTION(Hearth_Internal_stateChanges);
ZEND_FUNCTION(Hearth_Internal_stateMemory);


static const zend_function_entry ext_functions[] = {
	ZEND_NS_FALIAS("Hearth\\Internal", stateTake, Hearth_Internal_stateTake, arginfo_Hearth_Internal_stateTake)
	ZEND_NS_FALIAS("Hearth\\Internal", stateChanges, Hearth_Internal_stateChanges, arginfo_Hearth_Internal_stateChanges)
	ZEND_NS_FALIAS("Hearth\\Internal", stateMemory, Hearth_Internal_stateMemory, arginfo_Hearth_Internal_stateMemory)
	ZEND_FE_END
};
