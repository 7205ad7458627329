/*
 * References that a function of an extension writes to. Many such functions empty the variable first, then wait or run PHP code, and fill
 * it afterwards by a pointer that they have kept: exec(), getimagesize(), xml_parse_into_struct(), sort() with a __toString(). In `php` only
 * that code itself could assign to the variable meanwhile; here another request could, where the variable is a static property, a global
 * or static variable, or lies in an object that requests share. The array that the function then writes to is another one, or freed.
 *
 * So each function with such a parameter gets a reference of its own for the time of the call, with the same value and the same types.
 * At the end the variable gets its value. A variable that only the caller has is passed as it is.
 */
#include "engine/intercept.h"

/* The most references of one call that are replaced. */
#define MOST_REFERENCES 8

/* Functions that are called often, and write once they have ended, or that look at the variable again after each call of PHP code. */
static const char *const functions[] = {
	"preg_match", "preg_match_all", "preg_replace", "preg_filter", "preg_replace_callback", "preg_replace_callback_array",
	"str_replace", "str_ireplace", "similar_text", "is_callable", "apcu_fetch", "apcu_inc", "apcu_dec",
	"array_push", "array_pop", "array_shift", "array_unshift", "array_walk", "array_walk_recursive",
	"end", "next", "prev", "reset", "shuffle", "usort", "uasort", "uksort",
};

/* Parts of the names of functions that keep the reference, to read or to write the variable in later calls. */
static const char *const keeping[] = {"bind", "define"};

/* ---- which functions ---- */

static bool keeps_reference(const zend_function *function)
{
	const zend_string *name = function->common.function_name;

	for (size_t i = 0; i < sizeof keeping / sizeof *keeping; i++) {
		if (zend_memnistr(ZSTR_VAL(name), keeping[i], strlen(keeping[i]), ZSTR_VAL(name) + ZSTR_LEN(name))) {
			return true;
		}
	}
	return false;
}

static bool is_excepted(const zend_function *function)
{
	for (size_t i = 0; !function->common.scope && i < sizeof functions / sizeof *functions; i++) {
		if (zend_string_equals_cstr(function->common.function_name, functions[i], strlen(functions[i]))) {
			return true;
		}
	}
	return keeps_reference(function);
}

/* Whether a parameter is a reference. One that only prefers to be a reference is read. */
static bool has_reference(const zend_function *function)
{
	uint32_t count = function->common.num_args + ((function->common.fn_flags & ZEND_ACC_VARIADIC) != 0);

	for (uint32_t i = 1; i <= count; i++) {
		if (ARG_MUST_BE_SENT_BY_REF(function, i)) {
			return true;
		}
	}
	return false;
}

static void watch(HashTable *table)
{
	zend_function *function;

	ZEND_HASH_FOREACH_PTR(table, function) {
		if (function->type == ZEND_INTERNAL_FUNCTION && !(function->common.fn_flags & ZEND_ACC_ABSTRACT) && has_reference(function)
				&& !is_excepted(function)) {
			hearth_intercept_of(function)->has_references = true;
		}
	} ZEND_HASH_FOREACH_END();
}

void hearth_intercept_references(void)
{
	zend_class_entry *ce;

	watch(CG(function_table));
	ZEND_HASH_FOREACH_PTR(CG(class_table), ce) {
		watch(&ce->function_table);
	} ZEND_HASH_FOREACH_END();
}

/* ---- one reference ---- */

typedef struct {
	uint32_t number;                 /* of the parameter */
	zend_reference *shared, *own;    /* both are owned here */
	zval before;
} replaced;

bool hearth_reference_is_of_caller(const zend_execute_data *call, const zend_reference *reference)
{
	const zend_execute_data *caller = call->prev_execute_data;

	if (GC_REFCOUNT(reference) != 2 || !caller || !caller->func || !ZEND_USER_CODE(caller->func->type)) {
		return GC_REFCOUNT(reference) == 1;
	}
	for (int i = 0; i < caller->func->op_array.last_var; i++) {
		const zval *variable = ZEND_CALL_VAR_NUM(caller, i);

		if (Z_TYPE_P(variable) == IS_REFERENCE && Z_REF_P(variable) == reference) {
			return true;
		}
	}
	return false;
}

static void replace(replaced *this, zend_execute_data *call, uint32_t number)
{
	zval *argument = ZEND_CALL_ARG(call, number), value;
	zend_property_info *property;

	this->number = number;
	this->shared = Z_REF_P(argument);
	ZVAL_COPY(&this->before, &this->shared->val);
	ZVAL_COPY(&value, &this->before);
	ZVAL_NEW_REF(argument, &value);
	this->own = Z_REF_P(argument);
	GC_ADDREF(this->own);
	ZEND_REF_FOREACH_TYPE_SOURCES(this->shared, property) {
		ZEND_REF_ADD_TYPE_SOURCE(this->own, property);
	} ZEND_REF_FOREACH_TYPE_SOURCES_END();
}

static void forget_types(zend_reference *reference)
{
	while (ZEND_REF_HAS_TYPE_SOURCES(reference)) {
		ZEND_REF_DEL_TYPE_SOURCE(reference, ZEND_REF_FIRST_SOURCE(reference));
	}
}

/* A number may have been written that was there before; of an array or string that is the same one, nothing has been written. */
static bool is_written(const replaced *this)
{
	const zval *value = &this->own->val;

	return !Z_REFCOUNTED_P(value) || Z_TYPE_P(value) != Z_TYPE(this->before) || Z_COUNTED_P(value) != Z_COUNTED(this->before);
}

static void assign(zend_reference *reference, zval *value)
{
	zval old;

	if (ZEND_REF_HAS_TYPE_SOURCES(reference)) {
		zend_try_assign_typed_ref_zval(reference, value);
		return;
	}
	ZVAL_COPY_VALUE(&old, &reference->val);
	ZVAL_COPY_VALUE(&reference->val, value);
	zval_ptr_dtor(&old);
}

static void put_back(replaced *this, zend_execute_data *call)
{
	zval *argument = ZEND_CALL_ARG(call, this->number), value;

	forget_types(this->own);
	ZVAL_COPY(&value, &this->own->val);
	/* The caller's frame releases the argument. */
	zval_ptr_dtor(argument);
	ZVAL_REF(argument, this->shared);
	if (is_written(this)) {
		assign(this->shared, &value);
	} else {
		zval_ptr_dtor(&value);
	}
	zval_ptr_dtor(&this->before);
	ZVAL_REF(&value, this->own);
	zval_ptr_dtor(&value);
}

/* ---- calls ---- */

static uint32_t replace_all(replaced list[MOST_REFERENCES], zend_execute_data *call)
{
	uint32_t count = 0;

	for (uint32_t i = 1; i <= ZEND_CALL_NUM_ARGS(call) && count < MOST_REFERENCES; i++) {
		const zval *argument = ZEND_CALL_ARG(call, i);

		if (Z_ISREF_P(argument) && ARG_MUST_BE_SENT_BY_REF(call->func, i) && !hearth_reference_is_of_caller(call, Z_REF_P(argument))) {
			replace(&list[count++], call, i);
		}
	}
	return count;
}

void hearth_call_with_references(INTERNAL_FUNCTION_PARAMETERS, const hearth_intercept *intercept, hearth_make_call make)
{
	replaced list[MOST_REFERENCES];
	uint32_t count = replace_all(list, execute_data);

	make(INTERNAL_FUNCTION_PARAM_PASSTHRU, intercept);
	while (UNEXPECTED(count > 0)) {
		put_back(&list[--count], execute_data);
	}
}
