/* A connection of a pool as C code sees it: an object of Hearth\Pool\Entry. */
#ifndef HEARTH_POOL_ENTRY_H
#define HEARTH_POOL_ENTRY_H

#include "pool/pool.h"

extern zend_class_entry *hearth_pool_entry_ce;

/* It is lent to a task, 0 = outside of tasks. */
void hearth_pool_entry_lend(zend_object *entry, zend_long owner, double now);
/* It is back, and the pool's. Returns how long it was out, in seconds. */
double hearth_pool_entry_return(zend_object *entry, double now);
zend_long hearth_pool_entry_owner(zend_object *entry);
bool hearth_pool_entry_is_of(zend_object *entry, const zend_object *connection);
/* An answer may still come on it that its borrower did not wait for. */
bool hearth_pool_entry_is_interrupted(zend_object *entry);
/* A statement of its connection that is to be freed when nothing else uses that. */
void hearth_pool_entry_keep(zend_object *entry, zend_object *statement);
/* Since when its borrower has it, or the pool. */
double hearth_pool_entry_since(zend_object *entry);
/* No reason to close it, and no statement or trace of its lease is left. */
bool hearth_pool_entry_is_sound(zend_object *entry, double now);
/* Nothing to reset; only for one whose statements are watched can that be said. */
bool hearth_pool_entry_is_unchanged(zend_object *entry);
/* No lease of it has come to an end before. */
bool hearth_pool_entry_is_first_loan(zend_object *entry);
bool hearth_pool_entry_is_lent(zend_object *entry);
bool hearth_pool_entry_is_lent_to(zend_object *entry, uint64_t task);
/* The task that may use it: its borrower, or the one in which the pool has code of the app's use it; 0: none. */
uint64_t hearth_pool_entry_user(zend_object *entry);
/* What its borrower has in its hands; NULL: nothing, because the library calls the connection for it, or because it was closed. */
zval *hearth_pool_entry_raw_connection(zend_object *entry);

/* ---- pool/calls.c ---- */

/* How many connections have their calls looked at. */
extern uint32_t hearth_pool_calls;
/* From now on, calls on its connection are refused in tasks that have not borrowed it. */
void hearth_pool_calls_watch(zend_object *entry, const void *lease_table, zend_string *pool);
/* No longer; NULL: those of all entries of that lease_table. */
void hearth_pool_calls_forget(const void *lease_table, const zend_object *entry);
/* Is the call on this connection refused? */
bool hearth_pool_calls_refuse(const zend_execute_data *call, const void *what);
/* The call is over: it may have made a statement or a result. */
void hearth_statement_made(const zend_execute_data *call, const zval *returned);
/* Its last reference goes: the entry keeps it if it was made before the current lease, or if another task uses the connection. */
void hearth_pool_calls_keep(zend_object *statement, double created);

#endif
