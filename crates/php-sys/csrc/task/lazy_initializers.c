/*
 * Finds the lazy objects (PHP 8.4) in whose initializers the running code is. The engine calls an initializer with the object as its only
 * argument. Where that call has another value there now, the engine's table of lazy objects tells which object it was.
 */
#include "task/fiber.h"
#include "task/lazy_objects.h"
#include "task/no_suspend.h"

typedef bool (*visitor)(zend_object *object, const void *owner);

/* Whether an initializer works on the object, and nothing has recorded that. Only the engine's table tells such an object from others. */
bool hearth_lazy_object_is_being_initialized(const zend_object *object)
{
	return !HEARTH_IS_LAZY(object) && object->handlers == &std_object_handlers
		&& zend_hash_index_exists(HEARTH_LAZY_OBJECTS(), object->handle) && !hearth_lazy_object_is_recorded(object);
}

/* Returns the first argument of a call, also if the function declares none; NULL if the call has none. */
static zval *first_argument(const zend_execute_data *call)
{
	const zend_op_array *code = &call->func->op_array;

	if (ZEND_CALL_NUM_ARGS(call) == 0) {
		return NULL;
	}
	return ZEND_USER_CODE(call->func->type) && code->num_args == 0
		? ZEND_CALL_VAR_NUM(call, code->last_var + code->T) : ZEND_CALL_ARG(call, 1);
}

/* Returns the object that the call initializes, if its argument still says so. */
static zend_object *argument_of(const zend_execute_data *call)
{
	zval *argument = first_argument(call);

	if (!argument) {
		return NULL;
	}
	ZVAL_DEREF(argument);
	return Z_TYPE_P(argument) == IS_OBJECT && hearth_lazy_object_is_being_initialized(Z_OBJ_P(argument)) ? Z_OBJ_P(argument) : NULL;
}

/* Whether the engine has made the call, and not code of PHP. A generator looks like that too. */
static bool is_by_engine(const zend_execute_data *call)
{
	return call->func && !(ZEND_CALL_INFO(call) & ZEND_CALL_GENERATOR) && hearth_is_called_by_engine(call, hearth_call_below(call));
}

/* Whether the function takes a callback, and no object whose properties it reads, as array_map(). */
static bool calls_back(const zend_function *function)
{
	uint32_t types = 0;

	if (function->type != ZEND_INTERNAL_FUNCTION) {
		return false;
	}
	for (uint32_t i = 0; i < function->internal_function.num_args; i++) {
		types |= ZEND_TYPE_FULL_MASK(function->internal_function.arg_info[i].type);
	}
	return (types & MAY_BE_CALLABLE) && !(types & MAY_BE_OBJECT);
}

/* Whether the function gets the name of a property. */
static bool is_magic(const zend_function *function, const zend_class_entry *scope)
{
	return scope && (function == scope->__get || function == scope->__isset || function == scope->__unset);
}

/*
 * Whether the call may be one of an initializer: __call() gets the one argument in an array, and the first call of a task is none. To read
 * the whole table takes long where a request has thousands of lazy objects, so what calls most callbacks is told apart.
 */
static bool may_initialize(const zend_execute_data *call)
{
	const zend_function *function = call->func;
	const zend_class_entry *scope = function->common.scope;
	const zend_execute_data *caller = call->prev_execute_data;
	bool forwards = scope && (function == scope->__call || function == scope->__callstatic);

	return ZEND_CALL_NUM_ARGS(call) == (forwards ? 2 : 1) && caller && caller->prev_execute_data && caller->func
		&& !calls_back(caller->func) && !is_magic(function, scope);
}

bool hearth_lazy_object_may_be_initialized_by(const zend_execute_data *call)
{
	return is_by_engine(call) && (argument_of(call) || may_initialize(call));
}

static bool visit_table(visitor visit, const void *owner)
{
	zend_ulong number;

	ZEND_HASH_FOREACH_NUM_KEY(HEARTH_LAZY_OBJECTS(), number) {
		zend_object *object = EG(objects_store).object_buckets[number];

		if (hearth_lazy_object_is_being_initialized(object) && visit(object, owner)) {
			return true;
		}
	} ZEND_HASH_FOREACH_END();
	return false;
}

/* Visits the objects that the calls initialize, until a visit returns true. What other tasks initialize is recorded, so it is passed over. */
static bool visit_initialized(visitor visit, const void *owner)
{
	bool search = false;

	for (const zend_execute_data *call = EG(current_execute_data); call; call = hearth_call_below(call)) {
		zend_object *object;

		if (!is_by_engine(call)) {
			continue;
		}
		object = argument_of(call);
		if (!object) {
			search |= may_initialize(call);
		} else if (visit(object, owner)) {
			return true;
		}
	}
	return UNEXPECTED(search) && visit_table(visit, owner);
}

/* A proxy still has its properties marked while the initializer makes the object behind it. */
static bool is_proxy(const zend_object *object)
{
	for (int i = 0; i < object->ce->default_properties_count; i++) {
		if (HEARTH_IS_LAZY_PROPERTY(&object->properties_table[i])) {
			return true;
		}
	}
	return false;
}

/*
 * Whether the engine would use the object without its handlers: it assigns dynamic properties by itself, and goes over a proxy with
 * property hooks as it found it.
 */
static bool cannot_be_put_away(zend_object *object, const void *owner)
{
	const zend_class_entry *ce = object->ce;

	(void) owner;
	return ((ce->ce_flags & ZEND_ACC_ALLOW_DYNAMIC_PROPERTIES) && !ce->__set) || (HEARTH_HAS_PROPERTY_HOOKS(ce) && is_proxy(object));
}

bool hearth_lazy_objects_forbid_switch(void)
{
	return hearth_current->request && visit_initialized(cannot_be_put_away, NULL);
}

static bool put_away(zend_object *object, const void *owner)
{
	hearth_lazy_object_put_away(object, owner, hearth_current);
	return false;
}

void hearth_lazy_objects_put_away(const hearth_task *task)
{
	if (task->request) {
		visit_initialized(put_away, task);
	}
}

/* The code that goes on meanwhile may wait. It may initialize objects, too, so the table does not tell which are the Fiber's. */
void hearth_lazy_objects_suspend(const zend_fiber *fiber)
{
	const zend_execute_data *call = EG(current_execute_data);

	if (!hearth_current || !hearth_current->request) {
		return;
	}
	for (; call && call != fiber->stack_bottom; call = call->prev_execute_data) {
		zend_object *object = is_by_engine(call) ? argument_of(call) : NULL;

		if (object && !cannot_be_put_away(object, NULL)) {
			hearth_lazy_object_record(object, fiber, hearth_current);
		}
	}
}

static bool give_up(zend_object *object, const void *owner)
{
	hearth_lazy_object_put_away(object, owner, NULL);
	return false;
}

/*
 * The initializers of the running task have ended in the middle, and nothing says which object they were of. What others initialize is
 * recorded; so the rest is left half made.
 */
void hearth_lazy_objects_break(void)
{
	if (hearth_lazy_objects_exist()) {
		visit_table(give_up, NULL);
	}
}
