/*
 * Gives a name to the frame below a Fiber's first call, which belongs to the engine.
 *
 * php_error_docref() reads the name of the running function. Values left by a Fiber's first call, such as a variable that
 * its closure was bound to, are freed when only the frame below is left: a warning from there ends the process. It ends a
 * process of `php` too, but that one runs nothing else.
 */
#include "task/task.h"
#include "task/no_suspend.h"

static void name_bottom(INTERNAL_FUNCTION_PARAMETERS)
{
	EG(active_fiber)->stack_bottom->func->common.function_name = ZSTR_EMPTY_ALLOC();
}

static zend_internal_function namer = {.type = ZEND_INTERNAL_FUNCTION, .handler = name_bottom};

/* The engine has one such function for all Fibers, and it can only be reached from inside a Fiber. */
void hearth_fibers_name_bottom(void)
{
	zend_function *start = zend_hash_str_find_ptr(&zend_ce_fiber->function_table, ZEND_STRL("start"));
	zend_string *file = EG(filename_override);
	zend_fiber *fiber;
	zval object;

	if (object_init_ex(&object, zend_ce_fiber) == FAILURE) {
		return;
	}
	namer.function_name = ZSTR_EMPTY_ALLOC();
	fiber = (zend_fiber *) Z_OBJ(object);
	fiber->fci.size = sizeof fiber->fci;
	fiber->fci_cache.function_handler = (zend_function *) &namer;
	/* Xdebug asks for the file in which a new Fiber begins, and expects one. */
	EG(filename_override) = ZSTR_EMPTY_ALLOC();
	zend_call_known_instance_method_with_0_params(start, Z_OBJ(object), NULL);
	EG(filename_override) = file;
	zval_ptr_dtor(&object);
}
