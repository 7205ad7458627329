/* A stream that a call would close while another task uses it without a call that names it: see task/in_use.c. */
#include "engine/intercept.h"
#include "task/task.h"

static bool is_user_stream(const php_stream *stream)
{
	return stream->ops->label[0] == 'u' && strcmp(stream->ops->label, "user-space") == 0;
}

/*
 * Returns the other task that waits in code of the stream's wrapper, written in PHP. Whatever called that code, a parser for
 * instance, still uses the stream.
 */
static uint64_t task_in_wrapper(const php_stream *stream)
{
	/* The beginning of the engine's structure, which has no header. */
	const struct { void *wrapper; zval object; } *of_user = stream->abstract;

	return Z_TYPE(of_user->object) == IS_OBJECT ? hearth_task_inside(Z_OBJ(of_user->object)) : 0;
}

/*
 * Whether the call would close a stream that another task waits on by other means, such as stream_select(). If so, an exception
 * is pending.
 */
bool hearth_closes_what_is_waited_on(zend_execute_data *call)
{
	zval *value = hearth_argument(call, 1);
	php_stream *stream;
	php_socket_t fd;

	if (!value || Z_TYPE_P(value) != IS_RESOURCE || Z_RES_TYPE_P(value) != php_file_le_stream()) {
		return false;
	}
	stream = Z_RES_VAL_P(value);
	/* A user stream has no descriptor of its own, and would be asked for one by its stream_cast(). */
	if (is_user_stream(stream)) {
		uint64_t other = task_in_wrapper(stream);

		if (UNEXPECTED(other)) {
			hearth_use_refuse(call->func, other);
		}
		return other != 0;
	}
	return php_stream_cast(stream, PHP_STREAM_AS_FD_FOR_SELECT | PHP_STREAM_CAST_INTERNAL, (void *) &fd, 0) == SUCCESS
		&& hearth_on_refuses(fd);
}
