/* A connection of a pool as C code sees it: an object of Hearth\Pool\Entry. */
#ifndef HEARTH_POOL_ENTRY_H
#define HEARTH_POOL_ENTRY_H

#include "pool/pool.h"

extern zend_class_entry *hearth_pool_entry_ce;

/* Marks the entry as lent to a task; 0 = outside of tasks. */
void hearth_pool_entry_lend(zend_object *entry, zend_long owner, double now);
/* Marks the entry as back in the pool. Returns the seconds that it was lent. */
double hearth_pool_entry_return(zend_object *entry, double now);
zend_long hearth_pool_entry_owner(zend_object *entry);
bool hearth_pool_entry_is_of(zend_object *entry, const zend_object *connection);
/* Whether an answer may still arrive on the connection that its borrower did not wait for. */
bool hearth_pool_entry_is_interrupted(zend_object *entry);
/* Keeps a statement of the connection, to be freed when nothing else uses the connection. */
void hearth_pool_entry_keep(zend_object *entry, zend_object *statement);
/* Returns the time since when the borrower has it, or the pool. */
double hearth_pool_entry_since(zend_object *entry);
/* Whether there is no reason to close it, no task waits on it, and no statement or trace of its lease is left. */
bool hearth_pool_entry_is_sound(zend_object *entry, double now);
/* Whether there is nothing to reset; only known for an entry whose statements are watched. */
bool hearth_pool_entry_is_unchanged(zend_object *entry);
/* Makes SQLite forget the id of the row that was inserted last: no reset does. */
void hearth_pool_entry_forget_last_id(zend_object *entry);
/* Whether none of its leases has ended yet. */
bool hearth_pool_entry_is_first_lease(zend_object *entry);
bool hearth_pool_entry_is_lent(zend_object *entry);
bool hearth_pool_entry_is_lent_to(zend_object *entry, uint64_t task);
/* Returns the task that may use it: its borrower, or the task in which the pool runs the app's code on it; 0: none. */
uint64_t hearth_pool_entry_user(zend_object *entry);
/*
 * Returns the connection that its borrower holds itself; NULL if the library calls the connection on the borrower's behalf,
 * or the connection was closed.
 */
zval *hearth_pool_entry_raw_connection(zend_object *entry);

/* ---- pool/calls.c ---- */

/* The number of connections whose calls are checked. */
extern uint32_t hearth_pool_calls;
/* Refuses calls on its connection from now on, in tasks that have not borrowed it. */
void hearth_pool_calls_guard(zend_object *entry, const void *lease_table, zend_string *pool);
/* Ends that; NULL: for all entries of that lease table. */
void hearth_pool_calls_forget(const void *lease_table, const zend_object *entry);
/* Whether a call of the function on this connection is refused. */
bool hearth_pool_calls_refuse(const zend_execute_data *caller, const zend_function *function, const void *what);
/* Whether reading this property of an object of the connection is refused. */
bool hearth_pool_calls_refuse_property(zend_object *object, zend_string *name);
/* Called when a call has returned: it may have made a statement or a result. */
void hearth_statement_made(const zend_execute_data *call, const zval *returned);
/*
 * Called before the last reference is released: the entry keeps a statement that was made before the current lease, or whose
 * connection another task uses.
 */
void hearth_pool_calls_keep(zend_object *statement, double created);

#endif
