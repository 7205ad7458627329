/*
 * What the client's side of a database connection keeps from one lease to the next, and no reset of the server's session
 * restores: who is logged in, options that can be set but not read, functions of SQLite in PHP.
 *
 * Drivers of PDO have no header: the structs below are the first fields of their data, the same in PHP 8.2 to 8.4.
 */
#include "engine/engine.h"
#include "engine/intercept.h"
#include "pool/pool.h"
#include "task/in_use.h"

#include <Zend/zend_smart_str.h>
#include <dlfcn.h>
#include <ext/pdo/php_pdo_driver.h>

typedef struct {
	void *server;
	/* from the lowest bit: assumes national strings, attached, buffered, emulates, fetches table names, local infile */
	unsigned flags;
} mysql_handle;

typedef struct {
	void *db;
	const char *file;
	int line;
	unsigned errcode;
	char *message;
	/* lists to which each call adds an element at the head */
	const void *functions, *collations;
} sqlite_handle;

static void add_number(smart_str *out, zend_long number)
{
	smart_str_append_long(out, number);
	smart_str_appendc(out, ' ');
}

static void add_text(smart_str *out, const char *text)
{
	smart_str_appends(out, text ? text : "-");
	smart_str_appendc(out, ' ');
}

static void add_mysql(smart_str *out, const MYSQLND_CONN_DATA *data)
{
	const MYSQLND_VIO_OPTIONS *vio = data->vio ? &data->vio->data->options : NULL;

	add_number(out, (zend_long) data->thread_id);
	add_text(out, data->username.s);
	add_number(out, data->options->flags);
	add_number(out, data->options->int_and_float_native);
	add_number(out, data->options->max_allowed_packet);
	add_number(out, data->options->num_commands);
	add_text(out, data->options->charset_name);
	add_text(out, data->options->local_infile_directory);
	if (vio) {
		add_number(out, vio->timeout_connect);
		add_number(out, vio->timeout_read);
		add_number(out, vio->timeout_write);
		add_number(out, (zend_long) vio->net_read_buffer_size);
	}
}

static void add_pdo(smart_str *out, const pdo_dbh_t *dbh)
{
	const char *driver = dbh->driver->driver_name;

	add_number(out, dbh->stringify);
	add_number(out, dbh->oracle_nulls);
	add_number(out, dbh->error_mode);
	add_number(out, dbh->desired_case);
	add_number(out, dbh->default_fetch_type);
	if (strcmp(driver, "mysql") == 0) {
		add_number(out, ((const mysql_handle *) dbh->driver_data)->flags);
	} else if (strcmp(driver, "sqlite") == 0) {
		const sqlite_handle *sqlite = dbh->driver_data;

		add_number(out, (zend_long) (intptr_t) sqlite->db);
		add_number(out, (zend_long) (intptr_t) sqlite->functions);
		add_number(out, (zend_long) (intptr_t) sqlite->collations);
	}
}

/*
 * string Hearth\Internal\clientState(object $connection): equal as long as none of this was changed. Empty for a connection that
 * is none of PDO, mysqli or pgsql.
 */
ZEND_FUNCTION(Hearth_Internal_clientState)
{
	zval *object;
	smart_str out = {0};
	const pdo_dbh_t *dbh;
	const MYSQLND_CONN_DATA *mysql;
	const void *libpq;
	int (*process)(const void *) = (int (*)(const void *)) dlsym(RTLD_DEFAULT, "PQbackendPID");

	ZEND_PARSE_PARAMETERS_START(1, 1)
		Z_PARAM_OBJECT(object)
	ZEND_PARSE_PARAMETERS_END();
	dbh = hearth_pdo_of(object);
	mysql = hearth_mysqlnd_of(object);
	libpq = hearth_libpq_of(object);
	if (dbh) {
		add_pdo(&out, dbh);
	}
	if (mysql) {
		add_mysql(&out, mysql);
	}
	if (libpq && process) {
		add_number(&out, process(libpq));
	}
	RETURN_STR(smart_str_extract(&out));
}

/* Returns SQLite's connection; NULL for other drivers. */
static void *sqlite_of(zval *connection)
{
	const pdo_dbh_t *dbh = hearth_pdo_of(connection);

	return dbh && strcmp(dbh->driver->driver_name, "sqlite") == 0 ? ((const sqlite_handle *) dbh->driver_data)->db : NULL;
}

void hearth_forget_last_id(zval *connection)
{
	static void (*set)(void *, zend_long);
	static bool looked_up;
	void *sqlite = sqlite_of(connection);

	if (!sqlite) {
		return;
	}
	if (!looked_up) {
		set = (void (*)(void *, zend_long)) dlsym(RTLD_DEFAULT, "sqlite3_set_last_insert_rowid");
		looked_up = true;
	}
	if (set) {
		set(sqlite, 0);
	}
}

/* Whether a statement of the connection is between two rows. */
static bool has_busy_statement(void *sqlite)
{
	void *(*next)(void *, void *) = (void *(*)(void *, void *)) dlsym(RTLD_DEFAULT, "sqlite3_next_stmt");
	int (*is_busy)(void *) = (int (*)(void *)) dlsym(RTLD_DEFAULT, "sqlite3_stmt_busy");
	void *statement = NULL;

	while (next && is_busy && (statement = next(sqlite, statement))) {
		if (is_busy(statement)) {
			return true;
		}
	}
	return false;
}

/* Does what PDOStatement::closeCursor() does, with each statement of the connection. */
static void close_cursors(const pdo_dbh_t *dbh)
{
	for (uint32_t handle = 1; handle < EG(objects_store).top; handle++) {
		zend_object *object = EG(objects_store).object_buckets[handle];
		pdo_stmt_t *statement;

		if (!IS_OBJ_VALID(object) || !hearth_is_pdo_statement(object)) {
			continue;
		}
		statement = php_pdo_stmt_fetch_object(object);
		if (statement->dbh == dbh && statement->executed && statement->methods && statement->methods->cursor_closer) {
			statement->methods->cursor_closer(statement);
			statement->executed = 0;
		}
	}
}

/*
 * bool Hearth\Internal\closeCursors(object $connection): ends what statements of an SQLite connection still read; false if
 * something reads on. True for other connections.
 */
ZEND_FUNCTION(Hearth_Internal_closeCursors)
{
	zval *object;
	void *sqlite;

	ZEND_PARSE_PARAMETERS_START(1, 1)
		Z_PARAM_OBJECT(object)
	ZEND_PARSE_PARAMETERS_END();
	sqlite = sqlite_of(object);
	if (sqlite && has_busy_statement(sqlite)) {
		close_cursors(hearth_pdo_of(object));
	}
	RETURN_BOOL(!sqlite || !has_busy_statement(sqlite));
}

/* bool Hearth\Internal\isInUse(object $connection): whether a task waits in a call on the connection. */
ZEND_FUNCTION(Hearth_Internal_isInUse)
{
	zval *object;

	ZEND_PARSE_PARAMETERS_START(1, 1)
		Z_PARAM_OBJECT(object)
	ZEND_PARSE_PARAMETERS_END();
	RETURN_BOOL(hearth_uses && hearth_use_any(hearth_connection_of_object(Z_OBJ_P(object))));
}
