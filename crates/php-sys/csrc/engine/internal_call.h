/* Calls functions of PHP and its extensions from C. */
#ifndef HEARTH_INTERNAL_CALL_H
#define HEARTH_INTERNAL_CALL_H

#include "compat.h"

/*
 * Calls an internal function, also one that `disable_functions` names, or that the app has defined in its place. An exception
 * is cleared. False, with an undefined result, where no extension has the function, and where it threw.
 */
bool hearth_call_function(const char *name, uint32_t count, zval *arguments, zval *result);
/* The same with a function that is known. No exception may be in flight: it would be cleared. */
bool hearth_call_internal(zend_function *function, uint32_t count, zval *arguments, zval *result);

#endif
