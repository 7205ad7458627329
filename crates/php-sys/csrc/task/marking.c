/*
 * Code that may have marked values against recursion when PHP code runs inside it: calls of functions, and
 * comparisons. See task/marks.c.
 */
#include "engine/intercept.h"
#include "task/marks.h"

/*
 * Functions that mark their arguments, or the elements of those, and may meanwhile run code of the app or wait for the
 * client: those that show, walk or convert values, and those that compare them with ==. The engine marks what it compares.
 */
static const struct {
	const char *name;
	uintptr_t marks;
} functions[] = {
	{"var_dump", HEARTH_MARKS_ARGUMENTS}, {"debug_zval_dump", HEARTH_MARKS_ARGUMENTS}, {"var_export", HEARTH_MARKS_ARGUMENTS},
	{"print_r", HEARTH_MARKS_ARGUMENTS}, {"json_encode", HEARTH_MARKS_ARGUMENTS}, {"compact", HEARTH_MARKS_ARGUMENTS},
	{"filter_var", HEARTH_MARKS_ARGUMENTS}, {"filter_var_array", HEARTH_MARKS_ARGUMENTS}, {"in_array", HEARTH_MARKS_ARGUMENTS},
	{"array_search", HEARTH_MARKS_ARGUMENTS}, {"array_keys", HEARTH_MARKS_ARGUMENTS}, {"count", HEARTH_MARKS_ARGUMENTS},
	{"http_build_query", HEARTH_MARKS_ARGUMENTS}, {"mb_convert_encoding", HEARTH_MARKS_ARGUMENTS},
	{"mb_convert_variables", HEARTH_MARKS_ARGUMENTS}, {"min", HEARTH_MARKS_ELEMENTS}, {"max", HEARTH_MARKS_ELEMENTS}, {"sort", HEARTH_MARKS_ELEMENTS}, {"rsort", HEARTH_MARKS_ELEMENTS},
	{"asort", HEARTH_MARKS_ELEMENTS}, {"arsort", HEARTH_MARKS_ELEMENTS}, {"array_unique", HEARTH_MARKS_ELEMENTS},
	{"collator_sort", HEARTH_MARKS_ELEMENTS}, {"collator_asort", HEARTH_MARKS_ELEMENTS},
	{"array_merge_recursive", HEARTH_MARKS_ELEMENTS}, {"array_replace_recursive", HEARTH_MARKS_ELEMENTS},
	{"array_walk_recursive", HEARTH_MARKS_WALKED},
};

/* The kind of marks of those functions, by their handlers. Empty where no two requests run at the same time. */
static HashTable marking;

static zend_ulong key_of(zif_handler handler)
{
	return (zend_ulong) (uintptr_t) handler;
}

void hearth_marks_learn(void)
{
	zend_hash_init(&marking, 32, NULL, NULL, 1);
	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
		zend_function *function = zend_hash_str_find_ptr(CG(function_table), functions[i].name, strlen(functions[i].name));

		if (function && function->type == ZEND_INTERNAL_FUNCTION) {
			zend_hash_index_update_ptr(&marking, key_of(function->internal_function.handler), (void *) functions[i].marks);
		}
	}
}

uintptr_t hearth_marks_of(const zend_function *function)
{
	const hearth_intercept *intercept = hearth_intercept_known(function);
	zif_handler handler = intercept ? intercept->original : function->internal_function.handler;

	return marking.nNumOfElements ? (uintptr_t) zend_hash_index_find_ptr(&marking, key_of(handler)) : 0;
}

bool hearth_compares(const zend_op *opline)
{
	switch (opline->opcode) {
		case ZEND_IS_EQUAL:
		case ZEND_IS_NOT_EQUAL:
		case ZEND_IS_SMALLER:
		case ZEND_IS_SMALLER_OR_EQUAL:
		case ZEND_SPACESHIP:
		case ZEND_CASE: return true;
		/* in_array(), min() and max() */
		default: return HEARTH_IS_FRAMELESS_CALL(opline->opcode);
	}
}

bool hearth_may_have_marked(const zend_execute_data *call)
{
	if (!ZEND_USER_CODE(call->func->type)) {
		return hearth_marks_of(call->func) != 0;
	}
	return hearth_is_guarded(call->func) || hearth_compares(call->opline);
}
