/*
 * Connections on which a task's wait was ended early, by timeout() or a cancellation, and which are still open: the answer
 * may still arrive. A connection pool does not lend such a connection again, and calls on a connection of libpq are refused:
 * libpq would take the late answer for the answer to the next query. All other connections of the task are intact.
 *
 * The list is nearly always empty, so that checking it costs one load.
 */
#include "task/interrupted.h"

#include "engine/intercept.h"
#include "pool/pool.h"
#include "task/task.h"

typedef struct {
	int fd;
	uint64_t task, caller;           /* the task that waited, and the task that it ran a function for; 0 = none */
	const void *what;                /* what the waiting call was made on; NULL if that is not known */
	bool is_pgsql;                   /* the call is one of ext/pgsql */
} interruption;

uint32_t hearth_interruptions;
static interruption *list;
static uint32_t room;

/* ---- extensions ---- */

static bool is_module(const zend_module_entry *module, const char *name)
{
	return module && strcasecmp(module->name, name) == 0;
}

/* ---- the list ---- */

void hearth_note_interrupted(int fd)
{
	zend_execute_data *call = EG(current_execute_data);
	interruption *new;

	if (!hearth_current) {
		return;
	}
	hearth_current->interrupted = true;
	hearth_descriptor_closed(fd);
	if (hearth_interruptions == room) {
		room = room ? 2 * room : 16;
		list = perealloc(list, room * sizeof *list, 1);
	}
	new = &list[hearth_interruptions++];
	*new = (interruption){.fd = fd, .task = hearth_task_id(hearth_current), .caller = hearth_current->effective_task};
	if (call && call->func && hearth_intercept_known(call->func)) {
		new->what = hearth_used_by(call);
		new->is_pgsql = is_module(call->func->internal_function.module, "pgsql");
	}
}

void hearth_descriptor_closed(int fd)
{
	for (uint32_t i = 0; i < hearth_interruptions;) {
		if (list[i].fd == fd) {
			list[i] = list[--hearth_interruptions];
		} else {
			i++;
		}
	}
}

static bool has_descriptor(int fd)
{
	for (uint32_t i = 0; i < hearth_interruptions; i++) {
		if (list[i].fd == fd) {
			return true;
		}
	}
	return false;
}

static bool has_call_on(const void *what)
{
	for (uint32_t i = 0; i < hearth_interruptions; i++) {
		if (list[i].what == what) {
			return true;
		}
	}
	return false;
}

static bool has_task(uint64_t task)
{
	for (uint32_t i = 0; i < hearth_interruptions; i++) {
		if (list[i].task == task || list[i].caller == task) {
			return true;
		}
	}
	return false;
}

/* ---- for a pool ---- */

/*
 * Identifies the connection by its socket where that is known, or by the calls on it where only those wait for it.
 * For any other object, such as one of the app's classes, its connection is not known: then any open connection that
 * its task waited for counts.
 */
bool hearth_is_interrupted(zval *connection, uint64_t task)
{
	php_socket_t fd;

	if (EXPECTED(hearth_interruptions == 0) || Z_TYPE_P(connection) != IS_OBJECT) {
		return false;
	}
	if (hearth_socket_of(connection, &fd)) {
		return has_descriptor(fd);
	}
	if (hearth_waits_in_its_calls(hearth_internal_class(Z_OBJ_P(connection)))) {
		return has_call_on(hearth_connection_of_object(Z_OBJ_P(connection)));
	}
	return has_task(task);
}

/* bool Hearth\Internal\isInterrupted(object $connection, int $task) */
ZEND_FUNCTION(Hearth_Internal_isInterrupted)
{
	zval *connection;
	zend_long task;

	ZEND_PARSE_PARAMETERS_START(2, 2)
		Z_PARAM_OBJECT(connection)
		Z_PARAM_LONG(task)
	ZEND_PARSE_PARAMETERS_END();
	RETURN_BOOL(hearth_is_interrupted(connection, (uint64_t) task));
}

/* ---- libpq ---- */

/* Methods of PDO and functions of ext/pgsql that send nothing to the server. */
static const char *const harmless[] = {
	"intransaction", "errorcode", "errorinfo", "getattribute", "setattribute", "quote", "rowcount", "columncount", "fetch", "fetchall",
	"fetchcolumn", "fetchobject", "bindvalue", "bindparam", "bindcolumn", "setfetchmode", "getcolumnmeta", "getiterator",
	"__construct", "debugdumpparams", "pgsqlgetpid", "getpid",
	"pg_close", "pg_connection_reset", "pg_connection_status", "pg_last_error", "pg_last_notice", "pg_transaction_status", "pg_get_pid",
	"pg_socket", "pg_escape_string", "pg_escape_literal", "pg_escape_identifier", "pg_escape_bytea", "pg_dbname", "pg_host", "pg_port",
};

static bool queries_server(const zend_string *function)
{
	for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++) {
		if (strcasecmp(ZSTR_VAL(function), harmless[i]) == 0) {
			return false;
		}
	}
	return true;
}

/*
 * PDO is identified by its socket, because the end of a statement can wait too, and that is no call; ext/pgsql
 * by the call that waited.
 */
static bool is_interrupted_libpq(const void *what, bool is_pdo)
{
	php_socket_t fd;

	if (is_pdo) {
		return hearth_socket_of_pgsql(what, &fd) && has_descriptor(fd);
	}
	for (uint32_t i = 0; i < hearth_interruptions; i++) {
		if (list[i].is_pgsql && list[i].what == what) {
			return true;
		}
	}
	return false;
}

static void throw_lost(bool by_pdo)
{
	static const char message[] = "the wait for an answer on this connection was ended early, by timeout() or a cancellation: the next "
		"answer on it may be that one. Connect again";

	if (by_pdo) {
		hearth_throw_pdo("08006", message);
	} else {
		zend_throw_error(NULL, "%s", message);
	}
}

bool hearth_interrupted_refuses(zend_execute_data *call)
{
	const zend_module_entry *module = call->func->internal_function.module;
	bool by_pdo = Z_TYPE(call->This) == IS_OBJECT;

	if (!(by_pdo ? is_module(module, "PDO") || is_module(module, "pdo_pgsql") : is_module(module, "pgsql"))
			|| !is_interrupted_libpq(hearth_used_by(call), by_pdo) || !queries_server(call->func->common.function_name)) {
		return false;
	}
	throw_lost(by_pdo);
	return true;
}
