/*
 * The functions of namespace Hearth whose code is PHP: methods of Hearth\Internal\Functions
 * (php/src/Internal/Functions.php), which is compiled at the first call of one of these functions.
 */
#include "engine/engine.h"
#include "task/call.h"

#define CLASS "Hearth\\Internal\\Functions"

ZEND_FUNCTION(Hearth_parallel)
{
	static zend_function *method;
	zend_long limit = 0;
	bool none = true;
	zval args[2], *callables;

	ZEND_PARSE_PARAMETERS_START(1, 2)
		Z_PARAM_ARRAY(callables)
		Z_PARAM_OPTIONAL
		Z_PARAM_LONG_OR_NULL(limit, none)
	ZEND_PARSE_PARAMETERS_END();
	ZVAL_COPY_VALUE(&args[0], callables);
	ZVAL_NULL(&args[1]);
	if (!none) {
		ZVAL_LONG(&args[1], limit);
	}
	hearth_prelude_call(&method, CLASS, "parallel", 2, args, return_value);
}

ZEND_FUNCTION(Hearth_race)
{
	static zend_function *method;
	zval *callables;

	ZEND_PARSE_PARAMETERS_START(1, 1)
		Z_PARAM_ARRAY(callables)
	ZEND_PARSE_PARAMETERS_END();
	hearth_prelude_call(&method, CLASS, "race", 1, callables, return_value);
}

static void call_in_time(INTERNAL_FUNCTION_PARAMETERS, const char *name, zend_function **method)
{
	double seconds;
	zval args[2], *callable;

	ZEND_PARSE_PARAMETERS_START(2, 2)
		Z_PARAM_DOUBLE(seconds)
		Z_PARAM_ZVAL(callable)
	ZEND_PARSE_PARAMETERS_END();
	if (!hearth_is_callable(callable, 2)) {
		return;
	}
	ZVAL_DOUBLE(&args[0], seconds);
	ZVAL_COPY_VALUE(&args[1], callable);
	hearth_prelude_call(method, CLASS, name, 2, args, return_value);
}

#define FUNCTION_IN_TIME(name) \
	ZEND_FUNCTION(Hearth_##name) \
	{ \
		static zend_function *method; \
		call_in_time(INTERNAL_FUNCTION_PARAM_PASSTHRU, #name, &method); \
	}

FUNCTION_IN_TIME(timeout)
FUNCTION_IN_TIME(every)
FUNCTION_IN_TIME(after)
