/*
 * php://input: a stream of it reads the body of the request that opened it, and no other.
 *
 * The engine's stream asks for the body of whichever request runs. Under php-fpm that is the same one: the stream ends with its request. Here
 * a static or global may keep the stream for the next request, or show it to one that runs meanwhile.
 */
#include "request/request.h"

#include <ext/standard/php_fopen_wrappers.h>

/* The beginning of the engine's private description of such a stream, the same in all releases. */
typedef struct { php_stream *body; } engine_input;

typedef php_stream *(*opener)(php_stream_wrapper *wrapper, const char *url, const char *mode, int options, zend_string **opened,
	php_stream_context *context STREAMS_DC);

static opener open_original;
static const php_stream_ops *original;
static php_stream_ops own;
static php_stream_wrapper_ops wrapper_ops;
static php_stream_wrapper wrapper;

static bool is_of_running_request(const php_stream *stream)
{
	const engine_input *input = stream->abstract;

	return input->body && input->body == SG(request_info).request_body;
}

static ssize_t on_read(php_stream *stream, char *buffer, size_t count)
{
	if (UNEXPECTED(!is_of_running_request(stream))) {
		stream->eof = 1;
		return -1;
	}
	return original->read(stream, buffer, count);
}

static int on_seek(php_stream *stream, zend_off_t offset, int whence, zend_off_t *position)
{
	return is_of_running_request(stream) ? original->seek(stream, offset, whence, position) : -1;
}

static php_stream *on_open(php_stream_wrapper *self, const char *url, const char *mode, int options, zend_string **opened,
	php_stream_context *context STREAMS_DC)
{
	php_stream *stream = open_original(self, url, mode, options, opened, context STREAMS_REL_CC);

	if (stream && strcmp(stream->ops->label, "Input") == 0) {
		if (!original) {
			original = stream->ops;
			own = *original;
			own.read = on_read;
			own.seek = on_seek;
		}
		stream->ops = &own;
	}
	return stream;
}

void hearth_input_end(void)
{
	php_stream *body = SG(request_info).request_body;
	zend_resource *resource;

	if (EXPECTED(!body)) {
		return;
	}
	ZEND_HASH_FOREACH_PTR(&EG(regular_list), resource) {
		php_stream *stream = resource && resource->type == php_file_le_stream() ? resource->ptr : NULL;

		if (stream && stream->ops == &own && ((engine_input *) stream->abstract)->body == body) {
			((engine_input *) stream->abstract)->body = NULL;
		}
	} ZEND_HASH_FOREACH_END();
	php_stream_close(body);
	SG(request_info).request_body = NULL;
}

void hearth_input_hook(void)
{
	zval *place = zend_hash_str_find(php_stream_get_url_stream_wrappers_hash_global(), ZEND_STRL("php"));

	if (!place) {
		return;
	}
	wrapper = *(php_stream_wrapper *) Z_PTR_P(place);
	wrapper_ops = *wrapper.wops;
	open_original = wrapper_ops.stream_opener;
	wrapper_ops.stream_opener = on_open;
	wrapper.wops = &wrapper_ops;
	Z_PTR_P(place) = &wrapper;
}
