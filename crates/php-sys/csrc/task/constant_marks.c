/*
 * The marks of class constants against recursion. A constant is marked while its value is computed; a warning of that, or a notice that
 * the constant is deprecated, runs the error handler. Where that waits, another task would be told that the constant refers to itself.
 */
#include "task/marks.h"

/* Returns the constants of the class; NULL while none of those that have to be computed has been. */
static HashTable *constants_of(zend_class_entry *ce)
{
	const zend_class_mutable_data *own = NULL;

	if (!(ce->ce_flags & ZEND_ACC_HAS_AST_CONSTANTS) || !ZEND_MAP_PTR(ce->mutable_data)) {
		return &ce->constants_table;
	}
	own = ZEND_MAP_PTR_GET_IMM(ce->mutable_data);
	return own ? own->constants_table : NULL;
}

void hearth_marks_take_constants(hearth_marks *marks)
{
	zend_class_entry *ce;
	zend_class_constant *constant;

	ZEND_HASH_FOREACH_PTR(EG(class_table), ce) {
		HashTable *constants = ce->type == ZEND_USER_CLASS ? constants_of(ce) : NULL;

		if (!constants) {
			continue;
		}
		ZEND_HASH_FOREACH_PTR(constants, constant) {
			hearth_marks_take_bits(marks, NULL, &Z_CONSTANT_FLAGS(constant->value), HEARTH_CONSTANT_MARKS);
		} ZEND_HASH_FOREACH_END();
	} ZEND_HASH_FOREACH_END();
}
