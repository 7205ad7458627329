/* This is a generated file, edit the .stub.php file instead.
 * Stub hash: 28461cda6e93fdc4aff267d15d2274d55fcffd23 */

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Hearth_Internal_Histogram_record, 0, 1, IS_VOID, 0)
	ZEND_ARG_TYPE_INFO(0, seconds, IS_DOUBLE, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Hearth_Internal_Histogram_count, 0, 0, IS_LONG, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Hearth_Internal_Histogram_toArray, 0, 0, IS_ARRAY, 0)
ZEND_END_ARG_INFO()

#define arginfo_class_Hearth_Internal_Histogram_report arginfo_class_Hearth_Internal_Histogram_toArray


ZEND_METHOD(Hearth_Internal_Histogram, record);
ZEND_METHOD(Hearth_Internal_Histogram, count);
ZEND_METHOD(Hearth_Internal_Histogram, toArray);
ZEND_METHOD(Hearth_Internal_Histogram, report);


static const zend_function_entry class_Hearth_Internal_Histogram_methods[] = {
	ZEND_ME(Hearth_Internal_Histogram, record, arginfo_class_Hearth_Internal_Histogram_record, ZEND_ACC_PUBLIC)
	ZEND_ME(Hearth_Internal_Histogram, count, arginfo_class_Hearth_Internal_Histogram_count, ZEND_ACC_PUBLIC)
	ZEND_ME(Hearth_Internal_Histogram, toArray, arginfo_class_Hearth_Internal_Histogram_toArray, ZEND_ACC_PUBLIC)
	ZEND_ME(Hearth_Internal_Histogram, report, arginfo_class_Hearth_Internal_Histogram_report, ZEND_ACC_PUBLIC)
	ZEND_FE_END
};
