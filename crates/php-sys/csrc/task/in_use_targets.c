/* What a call is made on: see task/in_use.c. */
#include "engine/intercept.h"
#include "state/local_symbols.h"
#include "task/connection_child.h"
#include "task/task.h"

static bool is_of(const zend_object *object, const zend_module_entry *module)
{
	const zend_class_entry *ce = hearth_internal_class(object);

	return ce->type == ZEND_INTERNAL_CLASS && ce->info.internal.module == module;
}

/*
 * The object of a method; of a constructor, the object of the same extension that it is given first. Of a function, the first argument
 * or, as with dba_fetch(), another one of the function's own extension.
 */
zend_object *hearth_use_object(zend_execute_data *call)
{
	bool of_method = Z_TYPE(call->This) == IS_OBJECT;
	zval *argument;

	if (EXPECTED(of_method && !(call->func->common.fn_flags & ZEND_ACC_CTOR))) {
		return Z_OBJ(call->This);
	}
	argument = hearth_argument(call, 1);
	if (!of_method && argument && Z_TYPE_P(argument) == IS_OBJECT) {
		return Z_OBJ_P(argument);
	}
	for (uint32_t i = 1; i <= (of_method ? 1 : HEARTH_MOST_USED); i++) {
		argument = hearth_argument(call, i);
		if (argument && Z_TYPE_P(argument) == IS_OBJECT && is_of(Z_OBJ_P(argument), call->func->internal_function.module)) {
			return Z_OBJ_P(argument);
		}
	}
	return of_method ? Z_OBJ(call->This) : NULL;
}

static uint32_t collect_last_directory(zend_execute_data *call, const void *found[HEARTH_MOST_USED])
{
	const hearth_intercept *intercept = hearth_intercept_known(call->func);
	zend_resource *const *last = intercept && (intercept->use & HEARTH_LAST_DIRECTORY) ? hearth_last_directory() : NULL;

	found[0] = last && *last ? (*last)->ptr : NULL;
	return found[0] != NULL;
}

/* Returns the connection that the call is made on first. */
static const void *first_of(zend_execute_data *call)
{
	zend_object *object = hearth_use_object(call);
	const hearth_intercept *intercept = hearth_intercept_known(call->func);

	if (!object) {
		return hearth_connection_of_stream(hearth_argument(call, 1));
	}
	return intercept && UNEXPECTED(intercept->use & HEARTH_OF_RESULT)
		? hearth_connection_of_result(object) : hearth_connection_of_object(object);
}

/* Returns what a further argument is, as far as the call uses that. */
static const void *of_further(zval *argument, const hearth_intercept *intercept)
{
	return argument && Z_TYPE_P(argument) == IS_OBJECT && intercept && (intercept->use & HEARTH_IN_USE_OBJECTS)
		? hearth_connection_of_object(Z_OBJ_P(argument)) : hearth_connection_of_stream(argument);
}

/*
 * Collects what the call is made on: the object of a method, the first argument of a function, and further arguments that
 * are streams too. Other arguments may be objects that many calls share, such as callbacks; a few functions change those.
 */
uint32_t hearth_use_collect(zend_execute_data *call, const void *found[HEARTH_MOST_USED])
{
	uint32_t arguments = MIN(ZEND_CALL_NUM_ARGS(call), HEARTH_MOST_USED), count = 0;
	const hearth_intercept *intercept = hearth_intercept_known(call->func);
	const void *first = first_of(call);

	if (UNEXPECTED(arguments == 0) && Z_TYPE(call->This) != IS_OBJECT) {
		return collect_last_directory(call, found);
	}
	if (first) {
		found[count++] = first;
	}
	for (uint32_t i = Z_TYPE(call->This) == IS_OBJECT ? 1 : 2; i <= arguments; i++) {
		const void *further = of_further(hearth_argument(call, i), intercept);

		if (further && count < HEARTH_MOST_USED) {
			found[count++] = further;
		}
	}
	return count;
}

const void *hearth_used_by(zend_execute_data *call)
{
	const void *found[HEARTH_MOST_USED];

	return hearth_use_collect(call, found) ? found[0] : NULL;
}
