/* Replaces the handler of an internal function: the one place that writes `internal_function.handler`. */
#include "engine/replace.h"

bool hearth_replace_handler(zend_function *function, zif_handler *before, zif_handler ours)
{
	if (function->internal_function.handler == ours) {
		return false;
	}
	*before = function->internal_function.handler;
	function->internal_function.handler = ours;
	return true;
}

zend_function *hearth_replace_function(const char *name, zif_handler *before, zif_handler ours)
{
	zend_function *function = zend_hash_str_find_ptr(CG(function_table), name, strlen(name));

	return function && hearth_replace_handler(function, before, ours) ? function : NULL;
}
