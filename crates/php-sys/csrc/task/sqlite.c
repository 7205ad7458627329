/*
 * The SQLite connections that tasks have read or written with. After a fatal error nothing frees the objects of the request, so its
 * statements and its transaction are ended here: SQLite's locks would stay until the process ends.
 */
#include "task/sqlite.h"
#include "engine/engine.h"
#include "engine/intercept.h"

#include <ext/pdo/php_pdo_driver.h>

#include <dlfcn.h>

/* A connection, and the last task that has locked its database. */
typedef struct {
	const zend_object *object;
	uint32_t handle;
	uint64_t task;
	const hearth_request_state *request;
} used;

static used *connections;
static uint32_t count, room;

static bool is_a(const zend_object *object, const char *name)
{
	for (const zend_class_entry *ce = object->ce; ce; ce = ce->parent) {
		if (ce->type == ZEND_INTERNAL_CLASS && strcmp(ZSTR_VAL(ce->name), name) == 0) {
			return true;
		}
	}
	return false;
}

/* Returns a word of the structure of ext/sqlite3, which has no header. */
static void **word(const zend_object *object, uint32_t number)
{
	return (void **) ((char *) object - object->handlers->offset) + number;
}

static pdo_dbh_t *pdo_of(const zend_object *object)
{
	pdo_dbh_t *dbh = is_a(object, "PDO") ? php_pdo_dbh_fetch_inner((zend_object *) object) : NULL;

	return dbh && dbh->driver && dbh->driver_data && strcmp(dbh->driver->driver_name, "sqlite") == 0 ? dbh : NULL;
}

/* Returns SQLite's handle of a connection: the first word of PDO's driver, the second of a SQLite3, whose first one says whether it is open. */
static void *handle_of(const zend_object *object)
{
	pdo_dbh_t *dbh = pdo_of(object);

	if (dbh) {
		return *(void **) dbh->driver_data;
	}
	return is_a(object, "SQLite3") && *(int *) word(object, 0) ? *word(object, 1) : NULL;
}

/* Returns the connection that a method is called on, or its statement is of; NULL if it is of another kind. */
static const zend_object *connection_of(zend_object *object)
{
	const zval *connection = NULL;

	if (is_a(object, "PDOStatement")) {
		connection = &php_pdo_stmt_fetch_object(object)->database_object_handle;
	} else if (is_a(object, "SQLite3Stmt")) {
		connection = (const zval *) word(object, 2);
	} else {
		return handle_of(object) ? object : NULL;
	}
	return Z_TYPE_P(connection) == IS_OBJECT && handle_of(Z_OBJ_P(connection)) ? Z_OBJ_P(connection) : NULL;
}

static bool exists(const used *used)
{
	const zend_object *object = used->handle < EG(objects_store).top ? EG(objects_store).object_buckets[used->handle] : NULL;

	return object && IS_OBJ_VALID(object) && object == used->object && handle_of(object);
}

static void forget_freed(void)
{
	for (uint32_t i = 0; i < count;) {
		if (exists(&connections[i])) {
			i++;
		} else {
			connections[i] = connections[--count];
		}
	}
}

/* Returns the entry of the connection, which is made if there is none. */
static used *entry_of(const zend_object *connection)
{
	for (uint32_t i = 0; i < count; i++) {
		if (connections[i].object == connection) {
			return &connections[i];
		}
	}
	if (count == room) {
		forget_freed();
	}
	if (count == room) {
		room = room ? 2 * room : 8;
		connections = perealloc(connections, room * sizeof *connections, 1);
	}
	return &connections[count++];
}

void hearth_records_locked(void)
{
	zend_execute_data *call = EG(current_execute_data);
	const zend_object *connection;

	if (!hearth_current || !call || !call->func || call->func->type != ZEND_INTERNAL_FUNCTION || Z_TYPE(call->This) != IS_OBJECT) {
		return;
	}
	connection = connection_of(Z_OBJ(call->This));
	if (connection) {
		*entry_of(connection) = (used){
			.object = connection, .handle = connection->handle, .task = hearth_task_id(hearth_current), .request = hearth_current_request(),
		};
	}
}

/*
 * A statement that the error has left half done is no transaction to SQLite, and its reset would commit it: BEGIN, which fails in a
 * transaction, makes it part of one.
 */
static void roll_back(void *handle)
{
	int (*execute)(void *, const char *, void *, void *, void *) =
		(int (*)(void *, const char *, void *, void *, void *)) dlsym(RTLD_DEFAULT, "sqlite3_exec");

	if (execute) {
		execute(handle, "BEGIN", NULL, NULL, NULL);
		execute(handle, "ROLLBACK", NULL, NULL, NULL);
	}
}

/* A statement that has more rows keeps the lock for reading. */
static void reset_statements(void *handle)
{
	void *(*next)(void *, void *) = (void *(*)(void *, void *)) dlsym(RTLD_DEFAULT, "sqlite3_next_stmt");
	int (*reset)(void *) = (int (*)(void *)) dlsym(RTLD_DEFAULT, "sqlite3_reset");
	void *statement = NULL;

	while (next && reset && (statement = next(handle, statement))) {
		reset(statement);
	}
}

static void end_transaction(const zend_object *connection)
{
	pdo_dbh_t *dbh = pdo_of(connection);
	void *handle = handle_of(connection);

	roll_back(handle);
	reset_statements(handle);
	if (dbh) {
		dbh->in_txn = false;
	}
}

void hearth_sqlite_roll_back(const hearth_task *broken, bool of_request)
{
	forget_freed();
	for (uint32_t i = 0; i < count; i++) {
		const used *last = &connections[i];

		if (last->task == hearth_task_id(broken)
				|| (of_request && last->request == broken->request && !hearth_task_by_id(last->task))) {
			end_transaction(last->object);
		}
	}
}

void hearth_sqlite_forget(const hearth_request_state *request)
{
	for (uint32_t i = 0; i < count; i++) {
		if (connections[i].request == request) {
			connections[i].request = NULL;
		}
	}
}
