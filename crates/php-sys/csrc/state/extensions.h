/* Extensions that need code of their own to exchange what is a request's: see state/extensions.c. */
#ifndef HEARTH_STATE_EXTENSIONS_H
#define HEARTH_STATE_EXTENSIONS_H

#include "compat.h"

/* Adds the extension's ranges; false if it is none of those, or of another build than the headers'. */
bool hearth_extension_add(const zend_module_entry *module);

#endif
