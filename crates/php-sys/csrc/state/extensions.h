/* Extensions that need code of their own to exchange the state of a request: see state/extensions.c. */
#ifndef HEARTH_STATE_EXTENSIONS_H
#define HEARTH_STATE_EXTENSIONS_H

#include "state/ranges.h"

/* Adds the extension's ranges; false if it is none of those, or if its globals have another size than in the headers. */
bool hearth_extension_add(const zend_module_entry *module);

/* For single extensions. */
void hearth_extension_add_mbstring(void *globals);
void hearth_extension_add_mongodb(void *globals);
uint32_t hearth_extension_owner(const char *name, void (*release)(void));

#define HEARTH_ADD(scope, owner, lvalue) hearth_ranges_add(scope, owner, &(lvalue), sizeof(lvalue))
#define HEARTH_SENTINEL(scope, lvalue) hearth_ranges_sentinel(scope, &(lvalue), sizeof(lvalue))
/* From one field to the end of another. */
#define HEARTH_ADD_SPAN(scope, owner, from, to) \
	hearth_ranges_add(scope, owner, &(from), (size_t) ((char *) (&(to) + 1) - (char *) &(from)))

#endif
