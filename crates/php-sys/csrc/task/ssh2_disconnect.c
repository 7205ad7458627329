/*
 * ssh2_disconnect() while the session has channels, files or an SFTP: libssh2 frees them with the session, and the extension uses them again when
 * their own streams and resources end. In `php` that memory is mostly still there; here it is another request's. So they are closed first.
 */
#include "engine/intercept.h"
#include "task/connection_child.h"
#include "task/task.h"

static const void *connection_of(const zend_resource *resource, bool of_streams)
{
	if (resource->type == php_file_le_stream()) {
		return of_streams ? hearth_connection_of_child_stream(resource->ptr) : NULL;
	}
	return of_streams ? NULL : hearth_connection_of_resource(resource);
}

/* Returns an open stream, or other resource, that libssh2 made of the session; NULL if there is none. */
static zend_resource *child_of(const zend_resource *session, bool of_streams)
{
	zend_resource *resource;

	ZEND_HASH_FOREACH_PTR(&EG(regular_list), resource) {
		if (resource != session && resource->type >= 0 && resource->ptr && connection_of(resource, of_streams) == session->ptr) {
			return resource;
		}
	} ZEND_HASH_FOREACH_END();
	return NULL;
}

/* The list may change while a child is closed, because that waits for the server. */
static void close_children(zend_resource *session, bool of_streams)
{
	zend_resource *child;

	while (session->ptr && (child = child_of(session, of_streams))) {
		GC_ADDREF(child);
		zend_list_close(child);
		zend_list_delete(child);
	}
}

/* A file of SFTP needs the SFTP. */
static bool before(zend_execute_data *call, zval *return_value)
{
	zval *session = hearth_argument(call, 1);

	if (session && Z_TYPE_P(session) == IS_RESOURCE && Z_RES_P(session)->ptr && Z_RES_TYPE_P(session) != php_file_le_stream()) {
		close_children(Z_RES_P(session), true);
		close_children(Z_RES_P(session), false);
	}
	return !EG(exception);
}

void hearth_ssh2_disconnect_watch(void)
{
	static const hearth_around around = {.before = before};
	zend_function *function = zend_hash_str_find_ptr(CG(function_table), ZEND_STRL("ssh2_disconnect"));

	if (function) {
		hearth_intercept_of(function)->around = &around;
	}
}
