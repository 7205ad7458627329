/*
 * Opcodes in whose middle a task is not left. They hold a pointer into a variable, call PHP code, and write to the place afterwards, without
 * asking whether it is still there: `Registry::$log .= $object` with its __toString(), `self::$counts[$key] += $text` with the error handler
 * of its warning. In `php` only that code itself could free the place; here another request could, where the variable is a static property,
 * a global or static variable, or lies in an object that requests share.
 */
#include "task/fiber.h"
#include "task/no_suspend.h"

/* The default is 0: the task may be left. OF_VAR: if its first operand is a place that another opcode has found. */
enum { HOLDS_PLACE = 1, HOLDS_PLACE_OF_VAR = 2 };

static const unsigned char kinds[256] = {
	[ZEND_ASSIGN_STATIC_PROP_OP] = HOLDS_PLACE, [ZEND_PRE_INC_STATIC_PROP] = HOLDS_PLACE, [ZEND_PRE_DEC_STATIC_PROP] = HOLDS_PLACE,
	[ZEND_POST_INC_STATIC_PROP] = HOLDS_PLACE, [ZEND_POST_DEC_STATIC_PROP] = HOLDS_PLACE,
	[ZEND_ASSIGN_OP] = HOLDS_PLACE_OF_VAR, [ZEND_ASSIGN_DIM_OP] = HOLDS_PLACE_OF_VAR, [ZEND_ASSIGN_OBJ_OP] = HOLDS_PLACE_OF_VAR,
	[ZEND_ASSIGN] = HOLDS_PLACE_OF_VAR, [ZEND_ASSIGN_DIM] = HOLDS_PLACE_OF_VAR, [ZEND_ASSIGN_OBJ] = HOLDS_PLACE_OF_VAR,
	[ZEND_PRE_INC] = HOLDS_PLACE_OF_VAR, [ZEND_PRE_DEC] = HOLDS_PLACE_OF_VAR,
	[ZEND_POST_INC] = HOLDS_PLACE_OF_VAR, [ZEND_POST_DEC] = HOLDS_PLACE_OF_VAR,
	[ZEND_PRE_INC_OBJ] = HOLDS_PLACE_OF_VAR, [ZEND_PRE_DEC_OBJ] = HOLDS_PLACE_OF_VAR,
	[ZEND_POST_INC_OBJ] = HOLDS_PLACE_OF_VAR, [ZEND_POST_DEC_OBJ] = HOLDS_PLACE_OF_VAR,
};

/* A global or static variable of PHP code is a reference in the variable of the function. */
static bool is_shared_variable(const zend_execute_data *frame, const zend_op *opline)
{
	const zval *variable = ZEND_CALL_VAR(frame, opline->op1.var);

	return opline->op1_type == IS_CV && Z_TYPE_P(variable) == IS_REFERENCE && Z_REFCOUNT_P(variable) > 1;
}

static bool begins_with(const zend_string *name, const char *prefix)
{
	return strncasecmp(ZSTR_VAL(name), prefix, strlen(prefix)) == 0;
}

/* The engine holds the object whose accessor it calls, and writes to no place afterwards. */
static bool is_accessor(const zend_string *name)
{
	return begins_with(name, "__get") || begins_with(name, "__set") || begins_with(name, "__isset") || begins_with(name, "offset");
}

/* Assigning to an element of an object, such as an ArrayObject, ends the old value before the new one is written. */
static bool writes_to_object(const zend_execute_data *frame, const zend_op *opline)
{
	const zval *container = ZEND_CALL_VAR(frame, opline->op1.var);

	if (Z_TYPE_P(container) == IS_INDIRECT) {
		container = Z_INDIRECT_P(container);
	}
	ZVAL_DEREF(container);
	return opline->opcode == ZEND_ASSIGN_DIM && Z_TYPE_P(container) == IS_OBJECT;
}

/* An assignment ends the old value last, but for its own result, which it copies from the place. */
static bool is_last_step(const zend_execute_data *frame, const zend_op *opline, const zend_string *name)
{
	return (opline->opcode == ZEND_ASSIGN || opline->opcode == ZEND_ASSIGN_DIM || opline->opcode == ZEND_ASSIGN_OBJ)
		&& opline->result_type == IS_UNUSED && begins_with(name, "__destruct") && !writes_to_object(frame, opline);
}

static bool holds_place(const zend_execute_data *frame, const zend_execute_data *call)
{
	const zend_op *opline = frame->opline;
	const zend_string *name = call->func->common.function_name;
	unsigned char kind = kinds[opline->opcode];

	if (EXPECTED(!kind) || (kind == HOLDS_PLACE_OF_VAR && opline->op1_type != IS_VAR && !is_shared_variable(frame, opline))) {
		return false;
	}
	return !name || (!is_accessor(name) && !is_last_step(frame, opline, name));
}

/* Whether an opcode below the running code, which called it without a call in the script, holds a place. */
bool hearth_opcode_holds_place(void)
{
	const zend_execute_data *call = EG(current_execute_data), *below;

	for (; call; call = below) {
		below = hearth_call_below(call);
		if (below && call->func && (ZEND_CALL_INFO(call) & ZEND_CALL_TOP) && below->func && ZEND_USER_CODE(below->func->type)
				&& UNEXPECTED(holds_place(below, call))) {
			return true;
		}
	}
	return false;
}
