/* A connection of a pool as C code sees it: an object of Hearth\Pool\Entry. */
#ifndef HEARTH_POOL_ENTRY_H
#define HEARTH_POOL_ENTRY_H

#include "task.h"

extern zend_class_entry *hearth_pool_entry_ce;

/* It is lent to a task, 0 = outside of tasks. */
void hearth_pool_entry_lend(zend_object *entry, zend_long owner, double now);
/* It is back, and the pool's. Returns how long it was out, in seconds. */
double hearth_pool_entry_return(zend_object *entry, double now);
zend_long hearth_pool_entry_owner(zend_object *entry);
/* An answer may still come on it that its borrower did not wait for. */
bool hearth_pool_entry_is_interrupted(zend_object *entry);
/* No reason to close it, and no statement or trace of its loan is left. */
bool hearth_pool_entry_is_sound(zend_object *entry, double now);
/* Nothing to reset; only for one whose statements are watched can that be said. */
bool hearth_pool_entry_is_unchanged(zend_object *entry);

#endif
