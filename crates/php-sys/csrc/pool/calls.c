/*
 * Calls on a connection of a pool that code still holds after its lease. The connection may be lent to another task by then,
 * so such a call is refused before the extension is entered, by an exception that names the pool. Statements made on the
 * connection are kept when they are released: see pool/statements.c.
 *
 * A connection is known here from the end of its first lease on: before, only its borrower can have it. Connections of
 * `Hearth\Pool\Pdo` and `Redis` are never known here, because code never has them.
 */
#include "engine/engine.h"
#include "engine/intercept.h"
#include "pool/entry.h"

typedef struct {
	zend_object *entry;
	const void *lease_table;
	zend_string *pool;
} pooled;

/* By the address that identifies the connection: see task/connection.c. */
static HashTable connections;
uint32_t hearth_pool_calls;

static void release(zval *value)
{
	pooled *known = Z_PTR_P(value);

	hearth_pool_calls--;
	OBJ_RELEASE(known->entry);
	zend_string_release(known->pool);
	efree(known);
}

static zend_ulong key_of(const void *what)
{
	return (zend_ulong) (uintptr_t) what >> 3;
}

void hearth_pool_calls_guard(zend_object *entry, const void *lease_table, zend_string *pool)
{
	zval *connection = hearth_pool_entry_raw_connection(entry);
	const void *what = connection ? hearth_connection_of_object(Z_OBJ_P(connection)) : NULL;
	pooled *known;

	if (!what || !hearth_waits_in_its_calls(hearth_internal_class(Z_OBJ_P(connection)))) {
		return;
	}
	if (connections.nTableSize == 0) {
		zend_hash_init(&connections, 64, NULL, release, 1);
	}
	known = emalloc(sizeof *known);
	*known = (pooled){entry, lease_table, zend_string_copy(pool)};
	GC_ADDREF(entry);
	hearth_pool_calls++;
	zend_hash_index_update_ptr(&connections, key_of(what), known);
}

/* Forgets one entry, or all entries of that lease table. */
void hearth_pool_calls_forget(const void *lease_table, const zend_object *entry)
{
	zend_ulong key;
	pooled *known;

	if (hearth_pool_calls == 0) {
		return;
	}
	ZEND_HASH_FOREACH_NUM_KEY_PTR(&connections, key, known) {
		if (known->lease_table == lease_table && (!entry || known->entry == entry)) {
			zend_hash_index_del(&connections, key);
		}
	} ZEND_HASH_FOREACH_END();
}

/* ---- a call ---- */

/* Whether the running code is part of that task, or of a task that it started. */
static bool is_of(uint64_t task)
{
	for (hearth_task *self = hearth_current; self; self = hearth_task_by_id(self->starter)) {
		if (hearth_task_id(self) == task) {
			return true;
		}
	}
	return false;
}

/* The pool's own code may roll back, query and close. */
static bool is_of_pool(const zend_execute_data *caller)
{
	const zend_class_entry *scope = caller && caller->func ? caller->func->common.scope : NULL;

	return scope && zend_string_starts_with_literal(scope->name, "Hearth\\Pool\\");
}

/* `done`: what is done with it */
static void refuse(const char *name, const char *done, const pooled *known)
{
	zend_class_entry *ce = hearth_prelude_class("Hearth\\Pool\\NotBorrowed");
	zend_long owner = hearth_pool_entry_owner(known->entry);

	if (hearth_pool_entry_is_lent(known->entry)) {
		zend_throw_exception_ex(ce, 0, "pool \"%s\": %s %s on a connection that is lent to task " ZEND_LONG_FMT,
			ZSTR_VAL(known->pool), name, done, owner);
	} else {
		zend_throw_exception_ex(ce, 0, "pool \"%s\": %s %s on a connection that was given back", ZSTR_VAL(known->pool), name, done);
	}
}

static void refuse_call(const zend_function *function, const pooled *known)
{
	zend_string *name = get_function_or_method_name(function), *call = zend_strpprintf(0, "%s()", ZSTR_VAL(name));

	refuse(ZSTR_VAL(call), "is called", known);
	zend_string_release(call);
	zend_string_release(name);
}

/* Returns the record of a connection; NULL if it is of no pool. mysqli may have reused the address for another one. */
static const pooled *find(const void *what)
{
	const pooled *known = zend_hash_index_find_ptr(&connections, key_of(what));
	zval *connection = known ? hearth_pool_entry_raw_connection(known->entry) : NULL;

	return connection && hearth_connection_of_object(Z_OBJ_P(connection)) == what ? known : NULL;
}

void hearth_pool_calls_keep(zend_object *statement, double created)
{
	const void *what = hearth_connection_of_object(statement);
	const pooled *known = what ? find(what) : NULL;

	if (known && (created < hearth_pool_entry_since(known->entry) || hearth_in_use_elsewhere(what))) {
		hearth_pool_entry_keep(known->entry, statement);
	}
}

/* Returns the record of a connection on which the running code may do nothing; else NULL. */
static const pooled *forbidden(const zend_execute_data *caller, const void *what)
{
	const pooled *known = zend_hash_index_find_ptr(&connections, key_of(what));

	if (!known || EXPECTED(hearth_pool_entry_is_lent_to(known->entry, hearth_task_id(hearth_current)))) {
		return NULL;
	}
	known = find(what);
	return known && !is_of_pool(caller) && !is_of(hearth_pool_entry_user(known->entry)) ? known : NULL;
}

bool hearth_pool_calls_refuse(const zend_execute_data *caller, const zend_function *function, const void *what)
{
	const pooled *known = forbidden(caller, what);

	if (known) {
		refuse_call(function, known);
	}
	return known != NULL;
}

bool hearth_pool_calls_refuse_property(zend_object *object, zend_string *name)
{
	const void *what = hearth_connection_of_object(object);
	const pooled *known = what ? forbidden(EG(current_execute_data), what) : NULL;
	zend_string *property;

	if (known) {
		property = zend_strpprintf(0, "%s::$%s", ZSTR_VAL(object->ce->name), ZSTR_VAL(name));
		refuse(ZSTR_VAL(property), "is read", known);
		zend_string_release(property);
	}
	return known != NULL;
}
