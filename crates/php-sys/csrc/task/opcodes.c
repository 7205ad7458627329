/*
 * Opcodes in whose middle a task may be left. Many call PHP code that the script does not name: __toString(), getIterator(), the error handler of
 * a warning. Some hold a pointer into a variable meanwhile, and use it afterwards without asking whether it is still there:
 * `Registry::$log .= $object`, `self::$counts[$key] += $text`. In `php` only that code itself could free the place; here another request could,
 * where the variable is a static property, a global or static variable, or lies in an object that requests share. So a task is left in the
 * opcodes below, which were read for that, and in no others.
 */
#include "task/fiber.h"
#include "task/lazy_objects.h"
#include "task/marks.h"
#include "task/no_suspend.h"

typedef enum {
	/* 0: the task may be left in a destructor only, which mostly runs last. */
	LEAVES = 1,        /* in any call */
	HOLDS_PLACE,       /* in no call: the opcode holds a property, which lasts no longer than what another request writes to it */
	HOLDS_FOUND,       /* in a destructor, where the place is in a variable of the frame alone */
	HOLDS_FOUND_VALUE, /* in any call, if so is the place, and the value that is added to it */
	HOLDS_OPERANDS,    /* in any call, if the operands are no shared variables: the opcode uses them, or their object runs the call */
	COMPARES,          /* the same, if the opcode is not in the middle of an object: the value of a property may be replaced */
	HOLDS_CONTAINER,   /* the same as for operands, but for elements of objects, such as an ArrayObject, which may get another array */
	HOLDS_ITERABLE,    /* in any call, but for getIterator() of an object in a shared variable: iterators hold their object */
	ITERATES,          /* in any call, if the variable for the element is no reference of a typed property, which converts the element */
	HOLDS_PARAMETER,   /* in any call, if the parameter is no shared variable */
	CLONES,            /* in __clone(), the last step, if the operand is no shared variable: before it, a storage that is copied asks getHash() */
	CONSTRUCTS         /* in a constructor and a destructor: it makes the default value of a parameter */
} kind;

static const unsigned char kinds[256] = {
	[ZEND_TICKS] = LEAVES,
	[ZEND_ASSIGN_STATIC_PROP_OP] = HOLDS_PLACE, [ZEND_PRE_INC_STATIC_PROP] = HOLDS_PLACE, [ZEND_PRE_DEC_STATIC_PROP] = HOLDS_PLACE,
	[ZEND_POST_INC_STATIC_PROP] = HOLDS_PLACE, [ZEND_POST_DEC_STATIC_PROP] = HOLDS_PLACE,
	[ZEND_ASSIGN_OBJ_OP] = HOLDS_PLACE, [ZEND_PRE_INC_OBJ] = HOLDS_PLACE, [ZEND_PRE_DEC_OBJ] = HOLDS_PLACE,
	[ZEND_POST_INC_OBJ] = HOLDS_PLACE, [ZEND_POST_DEC_OBJ] = HOLDS_PLACE,
	[ZEND_ASSIGN] = HOLDS_FOUND, [ZEND_ASSIGN_DIM] = HOLDS_FOUND, [ZEND_ASSIGN_OBJ] = HOLDS_FOUND, [ZEND_PRE_INC] = HOLDS_FOUND,
	[ZEND_PRE_DEC] = HOLDS_FOUND, [ZEND_POST_INC] = HOLDS_FOUND, [ZEND_POST_DEC] = HOLDS_FOUND,
	[ZEND_ASSIGN_OP] = HOLDS_FOUND_VALUE, [ZEND_ASSIGN_DIM_OP] = HOLDS_FOUND_VALUE,
	[ZEND_ADD] = HOLDS_OPERANDS, [ZEND_SUB] = HOLDS_OPERANDS, [ZEND_MUL] = HOLDS_OPERANDS, [ZEND_DIV] = HOLDS_OPERANDS,
	[ZEND_MOD] = HOLDS_OPERANDS, [ZEND_POW] = HOLDS_OPERANDS, [ZEND_SL] = HOLDS_OPERANDS, [ZEND_SR] = HOLDS_OPERANDS,
	[ZEND_CONCAT] = HOLDS_OPERANDS, [ZEND_FAST_CONCAT] = HOLDS_OPERANDS, [ZEND_BW_OR] = HOLDS_OPERANDS, [ZEND_BW_AND] = HOLDS_OPERANDS,
	[ZEND_BW_XOR] = HOLDS_OPERANDS, [ZEND_IS_EQUAL] = COMPARES, [ZEND_IS_NOT_EQUAL] = COMPARES,
	[ZEND_IS_SMALLER] = COMPARES, [ZEND_IS_SMALLER_OR_EQUAL] = COMPARES, [ZEND_SPACESHIP] = COMPARES,
	[ZEND_CASE] = COMPARES, [ZEND_IN_ARRAY] = COMPARES,
	[ZEND_ROPE_INIT] = HOLDS_OPERANDS, [ZEND_ROPE_ADD] = HOLDS_OPERANDS, [ZEND_ROPE_END] = HOLDS_OPERANDS,
	[ZEND_ECHO] = HOLDS_OPERANDS, [ZEND_CAST] = HOLDS_OPERANDS, [ZEND_STRLEN] = HOLDS_OPERANDS, [ZEND_COUNT] = HOLDS_OPERANDS,
	[ZEND_CLONE] = CLONES, [ZEND_FETCH_DIM_R] = HOLDS_CONTAINER, [ZEND_FETCH_DIM_IS] = HOLDS_CONTAINER,
	[ZEND_FETCH_OBJ_R] = HOLDS_OPERANDS, [ZEND_FETCH_OBJ_IS] = HOLDS_OPERANDS, [ZEND_VERIFY_RETURN_TYPE] = HOLDS_OPERANDS,
	[ZEND_FE_RESET_R] = HOLDS_ITERABLE, [ZEND_FE_RESET_RW] = HOLDS_ITERABLE, [ZEND_ADD_ARRAY_UNPACK] = HOLDS_ITERABLE,
	[ZEND_SEND_UNPACK] = HOLDS_ITERABLE, [ZEND_YIELD_FROM] = HOLDS_ITERABLE, [ZEND_FE_FETCH_R] = ITERATES, [ZEND_FE_FETCH_RW] = ITERATES,
	[ZEND_RECV] = HOLDS_PARAMETER, [ZEND_RECV_INIT] = CONSTRUCTS,
#ifdef ZEND_EXIT
	[ZEND_EXIT] = HOLDS_OPERANDS,
#endif
#ifdef ZEND_FRAMELESS_ICALL_0
	[ZEND_FRAMELESS_ICALL_1] = COMPARES, [ZEND_FRAMELESS_ICALL_2] = COMPARES, [ZEND_FRAMELESS_ICALL_3] = COMPARES,
#endif
};

/*
 * Whether another variable refers to the same value: a global or static variable of PHP code is a reference in the variable of the function.
 * An operand that another opcode has found points to its place.
 */
static bool is_shared(const zend_execute_data *frame, int type, znode_op operand)
{
	const zval *variable = ZEND_CALL_VAR(frame, operand.var);

	return (type & (IS_CV | IS_VAR | IS_TMP_VAR))
		&& (Z_TYPE_P(variable) == IS_INDIRECT || (Z_TYPE_P(variable) == IS_REFERENCE && Z_REFCOUNT_P(variable) > 1));
}

static bool is_object(const zend_execute_data *frame, int type, znode_op operand)
{
	const zval *value = ZEND_CALL_VAR(frame, operand.var);

	if (!(type & (IS_VAR | IS_CV | IS_TMP_VAR))) {
		return false;
	}
	if (Z_TYPE_P(value) == IS_INDIRECT) {
		value = Z_INDIRECT_P(value);
	}
	ZVAL_DEREF(value);
	return Z_TYPE_P(value) == IS_OBJECT;
}

/* Whether the element that is written is one of an object, such as an ArrayObject. */
static bool is_element_of_object(const zend_execute_data *frame, const zend_op *opline)
{
	return (opline->opcode == ZEND_ASSIGN_DIM || opline->opcode == ZEND_ASSIGN_DIM_OP) && is_object(frame, opline->op1_type, opline->op1);
}

/* ---- what the opcode calls ---- */

/* The engine holds the object whose accessor or property hook it calls, and the generator, and writes to no place afterwards. */
static bool is_accessor(const zend_execute_data *call)
{
	static const char *const names[] = {
		"__get", "__set", "__isset", "__unset", "offsetget", "offsetset", "offsetexists", "offsetunset",
	};
	const zend_string *name = call->func->common.function_name;

	if ((ZEND_CALL_INFO(call) & ZEND_CALL_GENERATOR) || HEARTH_IS_PROPERTY_HOOK(call->func)) {
		return true;
	}
	for (size_t i = 0; name && call->func->common.scope && i < sizeof names / sizeof *names; i++) {
		if (strcasecmp(ZSTR_VAL(name), names[i]) == 0) {
			return true;
		}
	}
	return false;
}

static bool is_get_iterator(const zend_function *function)
{
	return function->common.function_name && zend_string_equals_literal_ci(function->common.function_name, "getiterator");
}

static bool is_destructor(const zend_function *function)
{
	return function->common.scope && function == function->common.scope->destructor;
}

static bool is_clone(const zend_function *function)
{
	return function->common.scope && function == function->common.scope->clone;
}

static bool is_constructor(const zend_function *function)
{
	return function->common.scope && function == function->common.scope->constructor;
}

/* ---- whether the task may be left there ---- */

static bool is_typed_reference(const zend_execute_data *frame, int type, znode_op operand)
{
	const zval *variable = ZEND_CALL_VAR(frame, operand.var);

	return type == IS_CV && Z_ISREF_P(variable) && ZEND_REF_HAS_TYPE_SOURCES(Z_REF_P(variable));
}

/* An assignment ends the old value last, but for its own result, which it copies from the place. An object writes the new value later. */
static bool is_last_step(const zend_execute_data *frame, const zend_op *opline)
{
	return (opline->opcode == ZEND_ASSIGN || opline->opcode == ZEND_ASSIGN_DIM || opline->opcode == ZEND_ASSIGN_OBJ)
		&& opline->result_type == IS_UNUSED && !is_element_of_object(frame, opline);
}

static bool has_shared_operands(const zend_execute_data *frame, const zend_op *opline)
{
	return is_shared(frame, opline->op1_type, opline->op1) || is_shared(frame, opline->op2_type, opline->op2)
		|| (opline[1].opcode == ZEND_OP_DATA && is_shared(frame, opline[1].op1_type, opline[1].op1));
}

/* Whether the opcode holds a place that another request could free. */
static bool holds(const zend_execute_data *frame, const zend_op *opline)
{
	switch (kinds[opline->opcode]) {
		case HOLDS_PLACE:
			return true;
		case HOLDS_FOUND:
		case HOLDS_FOUND_VALUE:
			return opline->op1_type == IS_VAR || is_shared(frame, opline->op1_type, opline->op1) || is_element_of_object(frame, opline);
		case HOLDS_OPERANDS:
		case HOLDS_CONTAINER:
		case COMPARES:
		case CLONES:
			return has_shared_operands(frame, opline);
		default:
			return false;
	}
}

static bool leaves(zend_execute_data *frame, const zend_op *opline, const zend_function *called)
{
	switch (kinds[opline->opcode]) {
		case LEAVES:
			return true;
		case HOLDS_FOUND_VALUE:
			return !holds(frame, opline) && !has_shared_operands(frame, opline);
		case HOLDS_OPERANDS:
			return !holds(frame, opline);
		case HOLDS_CONTAINER:
			return !holds(frame, opline) && !is_object(frame, opline->op1_type, opline->op1);
		case COMPARES:
			return !holds(frame, opline) && !hearth_marks_in_object(frame);
		case HOLDS_ITERABLE:
			return !is_get_iterator(called) || !is_shared(frame, opline->op1_type, opline->op1);
		case ITERATES:
			return !is_typed_reference(frame, opline->op2_type, opline->op2);
		case HOLDS_PARAMETER:
			return !is_shared(frame, IS_CV, opline->result);
		case CLONES:
			return !holds(frame, opline) && is_clone(called);
		case CONSTRUCTS:
			return is_constructor(called);
		default:
			return false;
	}
}

/* Whether the engine asks an iterator for the next element of a generator, whose `yield from` is behind its opline then. */
static bool is_delegating(const zend_execute_data *frame)
{
	return (ZEND_CALL_INFO(frame) & ZEND_CALL_GENERATOR) && !Z_ISUNDEF(((const zend_generator *) frame->return_value)->values);
}

/* Whether the code of `frame` holds a place in the middle of this call. A function of C that ends a value may be in the middle of an array. */
static bool holds_place(zend_execute_data *frame, const zend_execute_data *call)
{
	if (!ZEND_USER_CODE(frame->func->type)) {
		return is_destructor(call->func);
	}
	if (is_accessor(call) || is_delegating(frame)) {
		return false;
	}
	if (is_destructor(call->func)) {
		return holds(frame, frame->opline) && !is_last_step(frame, frame->opline);
	}
	if (UNEXPECTED(hearth_lazy_objects_exist()) && hearth_lazy_object_may_be_initialized_by(call)) {
		return holds(frame, frame->opline);
	}
	return !leaves(frame, frame->opline, call->func);
}

/* Calls that the script names were made by an opcode that only calls. */
bool hearth_calls_forbid_switch(void)
{
	zend_execute_data *call = EG(current_execute_data), *below;

	if (call && call->func && UNEXPECTED(hearth_prints_object(call))) {
		return true;
	}
	for (; call; call = below) {
		below = hearth_call_below(call);
		if (below && call->func && hearth_is_called_by_engine(call, below) && below->func
				&& UNEXPECTED(holds_place(below, call) || hearth_is_called_by_walker(call, below))) {
			return true;
		}
	}
	return false;
}
