/*
 * What a connection pool needs of MySQL connections and PDO does not offer: COM_RESET_CONNECTION, and whether the peer has closed.
 *
 * mysqlnd is an extension of its own that may not be loaded: its one entry point is looked up when first needed. The rest is reached
 * through the function tables of the connection, whose layout is that of the headers this is compiled with (checked at boot by the
 * PHP version that the binary is built for).
 */
#include "compat.h"
#include <dlfcn.h>
#include <poll.h>

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

/* bool Hearth\Internal\hasInput(object $connection): an idle connection on which something has come is of no more use. */
ZEND_FUNCTION(Hearth_Internal_hasInput)
{
	zval *object;
	MYSQLND_CONN_DATA *data;
	php_stream *stream;
	php_socket_t fd = -1;
	struct pollfd poll_fd;

	ZEND_PARSE_PARAMETERS_START(1, 1)
		Z_PARAM_OBJECT(object)
	ZEND_PARSE_PARAMETERS_END();
	data = mysqlnd_of(object);
	if (!data || !data->vio || !(stream = data->vio->data->m.get_stream(data->vio))
			|| php_stream_cast(stream, PHP_STREAM_AS_FD_FOR_SELECT | PHP_STREAM_CAST_INTERNAL, (void *) &fd, 0) != SUCCESS || fd < 0) {
		RETURN_FALSE;
	}
	poll_fd = (struct pollfd){.fd = fd, .events = POLLIN};
	RETURN_BOOL(poll(&poll_fd, 1, 0) > 0);
}
