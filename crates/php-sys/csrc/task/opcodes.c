/*
 * Opcodes in whose middle a task is not left. They hold a pointer into a variable, call PHP code, and write to the place afterwards, without
 * asking whether it is still there: `Registry::$log .= $object` with its __toString(), `self::$counts[$key] += $text` with the error handler
 * of its warning. In `php` only that code itself could free the place; here another request could, where the variable is a static property,
 * a global or static variable, or lies in an object that requests share.
 */
#include "task/fiber.h"
#include "task/no_suspend.h"

/* The default is 0: the task may be left. */
enum {
	HOLDS_PLACE = 1,   /* in a property, which lasts no longer than what another request writes to it */
	HOLDS_FOUND = 2,   /* that another opcode has found, or of a shared variable */
	HOLDS_OPERANDS = 3 /* of shared variables, while the other operand is converted */
};

static const unsigned char kinds[256] = {
	[ZEND_ASSIGN_STATIC_PROP_OP] = HOLDS_PLACE, [ZEND_PRE_INC_STATIC_PROP] = HOLDS_PLACE, [ZEND_PRE_DEC_STATIC_PROP] = HOLDS_PLACE,
	[ZEND_POST_INC_STATIC_PROP] = HOLDS_PLACE, [ZEND_POST_DEC_STATIC_PROP] = HOLDS_PLACE,
	[ZEND_ASSIGN_OBJ_OP] = HOLDS_PLACE, [ZEND_PRE_INC_OBJ] = HOLDS_PLACE, [ZEND_PRE_DEC_OBJ] = HOLDS_PLACE,
	[ZEND_POST_INC_OBJ] = HOLDS_PLACE, [ZEND_POST_DEC_OBJ] = HOLDS_PLACE,
	[ZEND_ASSIGN_OP] = HOLDS_FOUND, [ZEND_ASSIGN_DIM_OP] = HOLDS_FOUND, [ZEND_ASSIGN] = HOLDS_FOUND, [ZEND_ASSIGN_DIM] = HOLDS_FOUND,
	[ZEND_ASSIGN_OBJ] = HOLDS_FOUND, [ZEND_PRE_INC] = HOLDS_FOUND, [ZEND_PRE_DEC] = HOLDS_FOUND, [ZEND_POST_INC] = HOLDS_FOUND,
	[ZEND_POST_DEC] = HOLDS_FOUND,
	[ZEND_ADD] = HOLDS_OPERANDS, [ZEND_SUB] = HOLDS_OPERANDS, [ZEND_MUL] = HOLDS_OPERANDS, [ZEND_DIV] = HOLDS_OPERANDS,
	[ZEND_MOD] = HOLDS_OPERANDS, [ZEND_POW] = HOLDS_OPERANDS, [ZEND_SL] = HOLDS_OPERANDS, [ZEND_SR] = HOLDS_OPERANDS,
	[ZEND_CONCAT] = HOLDS_OPERANDS, [ZEND_FAST_CONCAT] = HOLDS_OPERANDS, [ZEND_BW_OR] = HOLDS_OPERANDS, [ZEND_BW_AND] = HOLDS_OPERANDS,
	[ZEND_BW_XOR] = HOLDS_OPERANDS, [ZEND_IS_EQUAL] = HOLDS_OPERANDS, [ZEND_IS_NOT_EQUAL] = HOLDS_OPERANDS,
	[ZEND_IS_SMALLER] = HOLDS_OPERANDS, [ZEND_IS_SMALLER_OR_EQUAL] = HOLDS_OPERANDS, [ZEND_SPACESHIP] = HOLDS_OPERANDS,
	[ZEND_CASE] = HOLDS_OPERANDS,
};

/* A global or static variable of PHP code is a reference in the variable of the function. */
static bool is_shared_variable(const zend_execute_data *frame, int type, znode_op operand)
{
	const zval *variable = ZEND_CALL_VAR(frame, operand.var);

	return type == IS_CV && Z_TYPE_P(variable) == IS_REFERENCE && Z_REFCOUNT_P(variable) > 1;
}

/* Whether the element that is written is one of an object, such as an ArrayObject. */
static bool is_element_of_object(const zend_execute_data *frame, const zend_op *opline)
{
	const zval *container = ZEND_CALL_VAR(frame, opline->op1.var);

	if ((opline->opcode != ZEND_ASSIGN_DIM && opline->opcode != ZEND_ASSIGN_DIM_OP) || !(opline->op1_type & (IS_VAR | IS_CV))) {
		return false;
	}
	if (Z_TYPE_P(container) == IS_INDIRECT) {
		container = Z_INDIRECT_P(container);
	}
	ZVAL_DEREF(container);
	return Z_TYPE_P(container) == IS_OBJECT;
}

/* The engine holds the object whose accessor it calls, and writes to no place afterwards. */
static bool is_accessor(const zend_function *function)
{
	static const char *const names[] = {
		"__get", "__set", "__isset", "__unset", "offsetget", "offsetset", "offsetexists", "offsetunset",
	};
	const zend_string *name = function->common.function_name;

	for (size_t i = 0; name && function->common.scope && i < sizeof names / sizeof *names; i++) {
		if (strcasecmp(ZSTR_VAL(name), names[i]) == 0) {
			return true;
		}
	}
	return false;
}

static bool is_destructor(const zend_function *function)
{
	return function->common.scope && function == function->common.scope->destructor;
}

/* An assignment ends the old value last, but for its own result, which it copies from the place. An object writes the new value later. */
static bool is_last_step(const zend_execute_data *frame, const zend_op *opline)
{
	return (opline->opcode == ZEND_ASSIGN || opline->opcode == ZEND_ASSIGN_DIM || opline->opcode == ZEND_ASSIGN_OBJ)
		&& opline->result_type == IS_UNUSED && !is_element_of_object(frame, opline);
}

static bool holds(const zend_execute_data *frame, const zend_op *opline)
{
	switch (kinds[opline->opcode]) {
		case HOLDS_PLACE:
			return true;
		case HOLDS_FOUND:
			return opline->op1_type == IS_VAR || is_shared_variable(frame, opline->op1_type, opline->op1)
				|| is_element_of_object(frame, opline);
		case HOLDS_OPERANDS:
			return is_shared_variable(frame, opline->op1_type, opline->op1) || is_shared_variable(frame, opline->op2_type, opline->op2);
		default:
			return false;
	}
}

/* Whether the opcode of `frame` called this function. A function of C that ends a value may be in the middle of an array. */
static bool holds_place(const zend_execute_data *frame, const zend_function *called)
{
	if (!ZEND_USER_CODE(frame->func->type)) {
		return is_destructor(called);
	}
	return UNEXPECTED(holds(frame, frame->opline)) && !is_accessor(called)
		&& !(is_destructor(called) && is_last_step(frame, frame->opline));
}

/* Whether an opcode below the running code, which called it without a call in the script, holds a place. */
bool hearth_opcode_holds_place(void)
{
	const zend_execute_data *call = EG(current_execute_data), *below;

	for (; call; call = below) {
		below = hearth_call_below(call);
		if (below && call->func && (ZEND_CALL_INFO(call) & ZEND_CALL_TOP) && below->func
				&& UNEXPECTED(holds_place(below, call->func))) {
			return true;
		}
	}
	return false;
}
