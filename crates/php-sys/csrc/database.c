/*
 * What a connection pool needs of database connections and PDO does not offer: COM_RESET_CONNECTION, whether the peer has closed, and
 * to close a connection that code still holds.
 *
 * mysqlnd is an extension of its own that may not be loaded: its one entry point is looked up when first needed. The rest is reached
 * through the function tables of the connection, whose layout is that of the headers this is compiled with (checked at boot by the
 * PHP version that the binary is built for).
 */
#include "task.h"

#include <dlfcn.h>
#include <errno.h>
#include <ext/pdo/php_pdo_driver.h>
#include <poll.h>
#include <sys/socket.h>

typedef MYSQLND *(*to_mysqlnd_fn)(zval *, const unsigned int, unsigned int *);

/* The mysqlnd connection behind a PDO or mysqli object; NULL if it has none. */
static MYSQLND_CONN_DATA *mysqlnd_of(zval *object)
{
	static to_mysqlnd_fn to_mysqlnd;
	unsigned int ignored = 0;
	MYSQLND *connection;

	if (!to_mysqlnd) {
		/* PHP loads extensions with RTLD_GLOBAL unless told otherwise; mysqlnd must be, as pdo_mysql links to it. */
		to_mysqlnd = (to_mysqlnd_fn) dlsym(RTLD_DEFAULT, "zval_to_mysqlnd");
		if (!to_mysqlnd) {
			return NULL;
		}
	}
	connection = to_mysqlnd(object, 0, &ignored);
	return connection ? connection->data : NULL;
}

/* bool Hearth\Internal\mysqlReset(object $connection): COM_RESET_CONNECTION; false if it failed, or it is no MySQL connection. */
ZEND_FUNCTION(Hearth_Internal_mysqlReset)
{
	zval *object;
	MYSQLND_CONN_DATA *data;
	MYSQLND_PROTOCOL_PAYLOAD_DECODER_FACTORY *factory;

	ZEND_PARSE_PARAMETERS_START(1, 1)
		Z_PARAM_OBJECT(object)
	ZEND_PARSE_PARAMETERS_END();
	data = mysqlnd_of(object);
	if (!data || data->state.m->get(&data->state) != CONN_READY) {
		RETURN_FALSE;
	}
	factory = data->payload_decoder_factory;
	if (factory->m.send_command(factory, COM_RESET_CONNECTION, NULL, 0, false, &data->state, data->error_info, data->upsert_status,
			data->stats, data->m->send_close, data) != PASS) {
		RETURN_FALSE;
	}
	RETVAL_BOOL(factory->m.send_command_handle_response(factory, PROT_OK_PACKET, false, COM_RESET_CONNECTION, false,
			data->error_info, data->upsert_status, &data->last_message) == PASS);
	data->state.m->set(&data->state, CONN_READY);
}

/* The socket of a connection, -1 if it is closed. */
static php_socket_t socket_of(MYSQLND_CONN_DATA *data)
{
	php_stream *stream = data->vio ? data->vio->data->m.get_stream(data->vio) : NULL;
	php_socket_t fd = -1;

	if (stream && php_stream_cast(stream, PHP_STREAM_AS_FD_FOR_SELECT | PHP_STREAM_CAST_INTERNAL, (void *) &fd, 0) != SUCCESS) {
		return -1;
	}
	return fd;
}

/* bool Hearth\Internal\hasInput(object $connection): an idle connection on which something has come is of no more use. */
ZEND_FUNCTION(Hearth_Internal_hasInput)
{
	zval *object;
	MYSQLND_CONN_DATA *data;
	struct pollfd poll_fd = {.events = POLLIN};

	ZEND_PARSE_PARAMETERS_START(1, 1)
		Z_PARAM_OBJECT(object)
	ZEND_PARSE_PARAMETERS_END();
	data = mysqlnd_of(object);
	if (!data || (poll_fd.fd = socket_of(data)) < 0) {
		RETURN_FALSE;
	}
	RETURN_BOOL(poll(&poll_fd, 1, 0) > 0);
}

/* The PDO behind an object that has a connection; NULL if there is none. */
static pdo_dbh_t *pdo_of(zval *object)
{
	static zend_class_entry *pdo;
	pdo_dbh_t *dbh;

	if (UNEXPECTED(!pdo)) {
		pdo = zend_hash_str_find_ptr(CG(class_table), ZEND_STRL("pdo"));
	}
	dbh = pdo && instanceof_function(Z_OBJCE_P(object), pdo) ? Z_PDO_DBH_P(object) : NULL;
	return dbh && dbh->driver && dbh->driver_data ? dbh : NULL;
}

bool hearth_in_transaction(zval *object)
{
	pdo_dbh_t *dbh = pdo_of(object);

	return dbh && (dbh->methods->in_transaction ? dbh->methods->in_transaction(dbh) : dbh->in_txn);
}

/* pdo_pgsql's own data begin with libpq's connection (8.2 to 8.4). */
static bool socket_of_pgsql(pdo_dbh_t *dbh, php_socket_t *fd)
{
	int (*socket_of_pg)(const void *) = (int (*)(const void *)) dlsym(RTLD_DEFAULT, "PQsocket");

	if (socket_of_pg) {
		*fd = socket_of_pg(*(void **) dbh->driver_data);
	}
	return socket_of_pg != NULL;
}

/* The socket of a PDO connection, -1 if it is closed; false if such a connection shows none. `mysql`: its mysqlnd connection, if any. */
static bool socket_of_pdo(zval *object, php_socket_t *fd, MYSQLND_CONN_DATA **mysql)
{
	pdo_dbh_t *dbh = pdo_of(object);

	*fd = -1;
	*mysql = NULL;
	if (dbh && strcmp(dbh->driver->driver_name, "mysql") == 0) {
		*mysql = mysqlnd_of(object);
		*fd = *mysql ? socket_of(*mysql) : -1;
		return *mysql != NULL;
	}
	return dbh && strcmp(dbh->driver->driver_name, "pgsql") == 0 && socket_of_pgsql(dbh, fd);
}

/*
 * bool Hearth\Internal\disconnect(object $connection): tells the server that nothing more comes, whoever holds the object; mysqlnd
 * says from here on that the server has gone away, and sends no farewell. False if that cannot be done with such an object. The
 * descriptor stays until the object goes. Not in a forked process: the socket is its parent's too.
 */
ZEND_FUNCTION(Hearth_Internal_disconnect)
{
	zval *object;
	php_socket_t fd;
	MYSQLND_CONN_DATA *mysql;

	ZEND_PARSE_PARAMETERS_START(1, 1)
		Z_PARAM_OBJECT(object)
	ZEND_PARSE_PARAMETERS_END();
	if (!socket_of_pdo(object, &fd, &mysql)) {
		RETURN_FALSE;
	}
	if (mysql) {
		mysql->state.m->set(&mysql->state, CONN_QUIT_SENT);
	}
	RETURN_BOOL(fd < 0 || shutdown(fd, SHUT_WR) == 0 || errno == ENOTCONN);
}

/* bool Hearth\Internal\hasLeft(object $connection): whether the server has closed one that was disconnected. What it still says is lost. */
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
	if (!socket_of_pdo(object, &fd, &mysql) || fd < 0) {
		RETURN_TRUE;
	}
	do {
		n = recv(fd, lost, sizeof(lost), MSG_DONTWAIT);
	} while (n > 0 || (n < 0 && errno == EINTR));
	RETURN_BOOL(n == 0 || (errno != EAGAIN && errno != EWOULDBLOCK));
}
