/* Replaces functions of PHP and its extensions by our own. */
#ifndef HEARTH_REPLACE_H
#define HEARTH_REPLACE_H

#include "compat.h"

/* Makes `ours` the handler of an internal function; `*before` gets the previous one. False: `ours` is it already. */
bool hearth_replace_handler(zend_function *function, zif_handler *before, zif_handler ours);
/* The same by name. Returns NULL where the function is missing: no extension has it, or `disable_functions` names it. */
zend_function *hearth_replace_function(const char *name, zif_handler *before, zif_handler ours);

#endif
