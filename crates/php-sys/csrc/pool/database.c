/*
 * Functions for database connections that a pool needs and PDO does not offer: COM_RESET_CONNECTION, whether the peer has
 * closed, and closing a connection that code still holds.
 *
 * mysqlnd is an extension of its own that may not be loaded: its one entry point is looked up when first needed. The rest is
 * reached through the function tables of the connection, whose layout is that of the headers this is compiled with (checked
 * at boot by the PHP version that the binary is built for).
 */
#include "pool/pool.h"

#include <dlfcn.h>
#include <errno.h>
#include <ext/pdo/php_pdo_driver.h>
#include <poll.h>
#include <sys/socket.h>

typedef MYSQLND *(*to_mysqlnd_fn)(zval *, const unsigned int, unsigned int *);

/* Returns the PDO behind an object that has a connection; NULL if there is none. */
pdo_dbh_t *hearth_pdo_of(zval *object)
{
	static zend_class_entry *pdo;
	pdo_dbh_t *dbh;

	if (UNEXPECTED(!pdo)) {
		pdo = zend_hash_str_find_ptr(CG(class_table), ZEND_STRL("pdo"));
	}
	dbh = pdo && instanceof_function(Z_OBJCE_P(object), pdo) ? Z_PDO_DBH_P(object) : NULL;
	return dbh && dbh->driver && dbh->driver_data ? dbh : NULL;
}

/* Returns the mysqlnd connection behind a PDO or mysqli object; NULL if it has none. */
MYSQLND_CONN_DATA *hearth_mysqlnd_of(zval *object)
{
	static to_mysqlnd_fn to_mysqlnd;
	unsigned int ignored = 0;
	MYSQLND *connection;
	MYSQLND_CONN_DATA *mysqli = hearth_mysqli_connection(Z_OBJ_P(object));
	const pdo_dbh_t *dbh = hearth_pdo_of(object);

	if (mysqli || !dbh || strcmp(dbh->driver->driver_name, "mysql") != 0) {
		return mysqli;
	}
	if (!to_mysqlnd) {
		/* PHP loads extensions with RTLD_GLOBAL by default; mysqlnd must be loaded so, as pdo_mysql links to it. */
		to_mysqlnd = (to_mysqlnd_fn) dlsym(RTLD_DEFAULT, "zval_to_mysqlnd");
		if (!to_mysqlnd) {
			return NULL;
		}
	}
	connection = to_mysqlnd(object, 0, &ignored);
	return connection ? connection->data : NULL;
}

/* ---- COM_RESET_CONNECTION ---- */

static bool send_command(MYSQLND_CONN_DATA *data, enum php_mysqlnd_server_command command, const char *text, size_t length)
{
	MYSQLND_PROTOCOL_PAYLOAD_DECODER_FACTORY *factory = data->payload_decoder_factory;

	return factory->m.send_command(factory, command, (const zend_uchar *) text, length, false, &data->state, data->error_info,
		data->upsert_status, data->stats, data->m->send_close, data) == PASS;
}

static bool read_ok(MYSQLND_CONN_DATA *data, enum php_mysqlnd_server_command command)
{
	MYSQLND_PROTOCOL_PAYLOAD_DECODER_FACTORY *factory = data->payload_decoder_factory;

	/* Each command restarts the packet numbers; the command whose answer is read need not be the one sent last. */
	data->protocol_frame_codec->data->packet_no = 1;
	return factory->m.send_command_handle_response(factory, PROT_OK_PACKET, false, command, false, data->error_info,
		data->upsert_status, &data->last_message) == PASS;
}

/* Sends everything before it waits for an answer: one round trip, whatever must be set again. */
static bool reset_at_once(MYSQLND_CONN_DATA *data, HashTable *statements)
{
	bool succeeded = send_command(data, COM_RESET_CONNECTION, NULL, 0);
	zval *statement;

	ZEND_HASH_FOREACH_VAL(statements, statement) {
		succeeded = succeeded && send_command(data, COM_QUERY, Z_STRVAL_P(statement), Z_STRLEN_P(statement));
	} ZEND_HASH_FOREACH_END();
	succeeded = succeeded && read_ok(data, COM_RESET_CONNECTION);
	for (uint32_t i = 0; succeeded && i < zend_hash_num_elements(statements); i++) {
		succeeded = read_ok(data, COM_QUERY);
	}
	return succeeded;
}

/* Waits for each answer: the packets of a compressed connection are numbered within others. */
static bool reset_by_and_by(MYSQLND_CONN_DATA *data, HashTable *statements)
{
	bool succeeded = send_command(data, COM_RESET_CONNECTION, NULL, 0) && read_ok(data, COM_RESET_CONNECTION);
	zval *statement;

	ZEND_HASH_FOREACH_VAL(statements, statement) {
		succeeded = succeeded && send_command(data, COM_QUERY, Z_STRVAL_P(statement), Z_STRLEN_P(statement))
			&& read_ok(data, COM_QUERY);
	} ZEND_HASH_FOREACH_END();
	return succeeded;
}

static bool are_strings(HashTable *values)
{
	zval *value;

	ZEND_HASH_FOREACH_VAL(values, value) {
		if (Z_TYPE_P(value) != IS_STRING) {
			return false;
		}
	} ZEND_HASH_FOREACH_END();
	return true;
}

/*
 * bool Hearth\Internal\mysqlReset(object $connection, array $statements = []): resets the session, then runs statements that
 * return no rows. False if that failed, so that the connection is unusable, or if it is no MySQL connection.
 */
ZEND_FUNCTION(Hearth_Internal_mysqlReset)
{
	zval *object;
	HashTable *statements = (HashTable *) &zend_empty_array;
	MYSQLND_CONN_DATA *data;

	ZEND_PARSE_PARAMETERS_START(1, 2)
		Z_PARAM_OBJECT(object)
		Z_PARAM_OPTIONAL
		Z_PARAM_ARRAY_HT(statements)
	ZEND_PARSE_PARAMETERS_END();
	data = hearth_mysqlnd_of(object);
	if (!data || data->state.m->get(&data->state) != CONN_READY || !are_strings(statements)) {
		RETURN_FALSE;
	}
	RETVAL_BOOL(data->protocol_frame_codec->data->compressed ? reset_by_and_by(data, statements) : reset_at_once(data, statements));
	if (Z_TYPE_P(return_value) == IS_TRUE) {
		/* Otherwise they are those of the last query. */
		data->error_info->m->reset(data->error_info);
		data->upsert_status->m->reset(data->upsert_status);
	}
	data->state.m->set(&data->state, CONN_READY);
}

/* int Hearth\Internal\mysqlThread(object $connection): the id for KILL; 0 if the connection has none. */
ZEND_FUNCTION(Hearth_Internal_mysqlThread)
{
	zval *object;
	MYSQLND_CONN_DATA *data;

	ZEND_PARSE_PARAMETERS_START(1, 1)
		Z_PARAM_OBJECT(object)
	ZEND_PARSE_PARAMETERS_END();
	data = hearth_mysqlnd_of(object);
	RETURN_LONG(data ? (zend_long) data->thread_id : 0);
}

/* ---- results ---- */

enum { PG_TRANSACTION_ACTIVE = 1 };

/* Returns libpq's connection: the first field of pdo_pgsql's data (8.2 to 8.4) and of a PgSql\Connection; else NULL. */
const void *hearth_libpq_of(zval *object)
{
	const pdo_dbh_t *dbh = hearth_pdo_of(object);

	if (dbh) {
		return strcmp(dbh->driver->driver_name, "pgsql") == 0 ? *(void **) dbh->driver_data : NULL;
	}
	return hearth_pgsql_connection(Z_OBJ_P(object));
}

bool hearth_has_unread_result(zval *object)
{
	MYSQLND_CONN_DATA *mysql = hearth_mysqlnd_of(object);
	const void *libpq = mysql ? NULL : hearth_libpq_of(object);
	int (*transaction_status)(const void *);

	if (mysql) {
		enum mysqlnd_connection_state state = mysql->state.m->get(&mysql->state);

		return state != CONN_READY && state != CONN_QUIT_SENT && state != CONN_ALLOCED;
	}
	transaction_status = libpq ? (int (*)(const void *)) dlsym(RTLD_DEFAULT, "PQtransactionStatus") : NULL;
	return transaction_status && transaction_status(libpq) == PG_TRANSACTION_ACTIVE;
}

/* bool Hearth\Internal\hasUnreadResult(object $connection): whether the answer to a query has not been read to its end. */
ZEND_FUNCTION(Hearth_Internal_hasUnreadResult)
{
	zval *object;

	ZEND_PARSE_PARAMETERS_START(1, 1)
		Z_PARAM_OBJECT(object)
	ZEND_PARSE_PARAMETERS_END();
	RETURN_BOOL(hearth_has_unread_result(object));
}

/* ---- sockets ---- */

/* Returns the socket of a connection, -1 if it is closed. */
static php_socket_t socket_of(MYSQLND_CONN_DATA *data)
{
	php_stream *stream = data->vio ? data->vio->data->m.get_stream(data->vio) : NULL;
	php_socket_t fd = -1;

	if (stream && php_stream_cast(stream, PHP_STREAM_AS_FD_FOR_SELECT | PHP_STREAM_CAST_INTERNAL, (void *) &fd, 0) != SUCCESS) {
		return -1;
	}
	return fd;
}

/* bool Hearth\Internal\hasInput(object $connection): whether data has arrived; an idle connection with input is unusable. */
ZEND_FUNCTION(Hearth_Internal_hasInput)
{
	zval *object;
	struct pollfd poll_fd = {.events = POLLIN};

	ZEND_PARSE_PARAMETERS_START(1, 1)
		Z_PARAM_OBJECT(object)
	ZEND_PARSE_PARAMETERS_END();
	if (!hearth_socket_of(object, &poll_fd.fd) || poll_fd.fd < 0) {
		RETURN_FALSE;
	}
	RETURN_BOOL(poll(&poll_fd, 1, 0) > 0);
}

bool hearth_in_transaction(zval *object)
{
	pdo_dbh_t *dbh = hearth_pdo_of(object);

	return dbh && (dbh->methods->in_transaction ? dbh->methods->in_transaction(dbh) : dbh->in_txn);
}

static bool socket_of_libpq(const void *libpq, php_socket_t *fd)
{
	int (*socket_of_pg)(const void *) = (int (*)(const void *)) dlsym(RTLD_DEFAULT, "PQsocket");

	if (socket_of_pg) {
		*fd = socket_of_pg(libpq);
	}
	return socket_of_pg != NULL;
}

bool hearth_socket_of_pgsql(const void *pdo, php_socket_t *fd)
{
	const pdo_dbh_t *dbh = pdo;

	return dbh && dbh->driver && dbh->driver_data && strcmp(dbh->driver->driver_name, "pgsql") == 0
		&& socket_of_libpq(*(void **) dbh->driver_data, fd);
}

/* Finds the socket, -1 if it is closed; false if the socket is not known. `*mysql`: the mysqlnd connection, if any. */
static bool find_socket(zval *object, php_socket_t *fd, MYSQLND_CONN_DATA **mysql)
{
	*fd = -1;
	*mysql = hearth_mysqlnd_of(object);
	if (*mysql) {
		*fd = socket_of(*mysql);
		return true;
	}
	return hearth_socket_of_pgsql(hearth_pdo_of(object), fd);
}

/* The same for disconnect(), also for a PgSql\Connection. */
static bool find_any_socket(zval *object, php_socket_t *fd, MYSQLND_CONN_DATA **mysql)
{
	const void *libpq;

	if (find_socket(object, fd, mysql)) {
		return true;
	}
	libpq = hearth_libpq_of(object);
	return libpq && socket_of_libpq(libpq, fd);
}

bool hearth_socket_of(zval *object, php_socket_t *fd)
{
	MYSQLND_CONN_DATA *mysql;

	return find_socket(object, fd, &mysql);
}

void hearth_throw_pdo(const char *state, const char *message)
{
	zend_class_entry *ce = zend_hash_str_find_ptr(CG(class_table), ZEND_STRL("pdoexception"));
	zend_object *error = zend_throw_exception(ce, message, 0);
	zval info;

	zend_update_property_string(ce, error, ZEND_STRL("code"), state);
	array_init(&info);
	add_next_index_string(&info, state);
	add_next_index_long(&info, 0);
	add_next_index_string(&info, message);
	zend_update_property(ce, error, ZEND_STRL("errorInfo"), &info);
	zval_ptr_dtor(&info);
}

/*
 * bool Hearth\Internal\disconnect(object $connection): shuts down the sending side, even if code holds the object; from then
 * on mysqlnd reports that the server has gone away, and sends no COM_QUIT. False if the object has no known socket. The
 * descriptor stays until the object is freed. Not for a forked process: its parent has the socket too.
 */
ZEND_FUNCTION(Hearth_Internal_disconnect)
{
	zval *object;
	php_socket_t fd;
	MYSQLND_CONN_DATA *mysql;

	ZEND_PARSE_PARAMETERS_START(1, 1)
		Z_PARAM_OBJECT(object)
	ZEND_PARSE_PARAMETERS_END();
	if (!find_any_socket(object, &fd, &mysql)) {
		RETURN_FALSE;
	}
	if (mysql) {
		mysql->state.m->set(&mysql->state, CONN_QUIT_SENT);
	}
	RETURN_BOOL(fd < 0 || shutdown(fd, SHUT_WR) == 0 || errno == ENOTCONN);
}

/*
 * bool Hearth\Internal\hasLeft(object $connection): whether the server has closed a connection after
 * disconnect(). Input is discarded.
 */
ZEND_FUNCTION(Hearth_Internal_hasLeft)
{
	zval *object;
	php_socket_t fd;
	MYSQLND_CONN_DATA *mysql;
	char lost[16384];
	ssize_t n;

	ZEND_PARSE_PARAMETERS_START(1, 1)
		Z_PARAM_OBJECT(object)
	ZEND_PARSE_PARAMETERS_END();
	if (!find_any_socket(object, &fd, &mysql) || fd < 0) {
		RETURN_TRUE;
	}
	do {
		n = recv(fd, lost, sizeof(lost), MSG_DONTWAIT);
	} while (n > 0 || (n < 0 && errno == EINTR));
	RETURN_BOOL(n == 0 || (errno != EAGAIN && errno != EWOULDBLOCK));
}
