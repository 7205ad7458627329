/* The body of a request, by the methods of Hearth\Request: whole, decoded, or as a stream. */
#include "request/request.h"

static void *request_of(zval *object)
{
	return ((hearth_request_object *) ((char *) Z_OBJ_P(object) - XtOffsetOf(hearth_request_object, std)))->request;
}

/* Only the running request has its body and what is parsed from it. */
bool hearth_request_is_running(void *request)
{
	hearth_request_state *state = hearth_current_request();

	if (state && state->request == request) {
		return true;
	}
	zend_throw_error(NULL, "The body of a request can only be read while that request is handled, by its own tasks; "
		"this request has ended, or a task of another request reads its body");
	return false;
}

/*
 * php://input keeps what it has read in a temporary file. If the file cannot be written, php://input ends
 * early, with only a warning.
 */
static void refuse_part_of_body(hearth_request_state *state)
{
	static const char text[] = "The body of the request cannot be stored whole: PHP's directory for temporary files cannot be written to or is full";

	/* A later read of php://input asks for the body again, and gets the error. */
	state->body_broken = true;
	SG(read_post_bytes) = INT64_MIN / 2;
	hearth_throw(HEARTH_THROW_ERROR, (hearth_str){text, sizeof text - 1});
}

static zend_string *read_body(zval *object)
{
	int64_t before = SG(read_post_bytes);
	php_stream *input;
	zend_string *text;

	if (!hearth_request_is_running(request_of(object)) || hearth_body_is_broken(hearth_current_request())) {
		return NULL;
	}
	input = php_stream_open_wrapper("php://input", "rb", REPORT_ERRORS, NULL);
	if (!input) {
		return ZSTR_EMPTY_ALLOC();
	}
	text = php_stream_copy_to_mem(input, PHP_STREAM_COPY_ALL, 0);
	php_stream_close(input);
	text = text ? text : ZSTR_EMPTY_ALLOC();
	if (UNEXPECTED(!EG(exception) && SG(read_post_bytes) - before > (int64_t) ZSTR_LEN(text))) {
		zend_string_release(text);
		refuse_part_of_body(hearth_current_request());
		return NULL;
	}
	return text;
}

ZEND_METHOD(Hearth_Request, body)
{
	zend_string *text;

	ZEND_PARSE_PARAMETERS_NONE();
	text = read_body(ZEND_THIS);
	if (text) {
		RETURN_STR(text);
	}
}

ZEND_METHOD(Hearth_Request, json)
{
	zend_long flags = 0;
	zend_string *text;
	zval function, arguments[4];

	ZEND_PARSE_PARAMETERS_START(0, 1)
		Z_PARAM_OPTIONAL
		Z_PARAM_LONG(flags)
	ZEND_PARSE_PARAMETERS_END();
	text = read_body(ZEND_THIS);
	if (!text) {
		return;
	}
	ZVAL_STRING(&function, "json_decode");
	ZVAL_STR(&arguments[0], text);
	ZVAL_TRUE(&arguments[1]);
	ZVAL_LONG(&arguments[2], 512);
	ZVAL_LONG(&arguments[3], flags | (1 << 22)); /* JSON_THROW_ON_ERROR */
	call_user_function(NULL, NULL, &function, return_value, 4, arguments);
	zval_ptr_dtor(&function);
	zval_ptr_dtor(&arguments[0]);
}

/* ---- stream(): the body as it arrives ---- */

static ssize_t body_stream_read(php_stream *stream, char *buffer, size_t count)
{
	hearth_request_state *state = hearth_current_request();
	ptrdiff_t n;

	if (!state || state->request != stream->abstract) {
		stream->eof = 1;
		return -1;
	}
	if (!hearth_body_lock(state)) {
		return -1;
	}
	n = hearth_on_body_read(stream->abstract, buffer, count);
	hearth_body_unlock(state);
	stream->eof = n == 0;
	if (n <= 0) {
		hearth_body_read_ended(stream->abstract, n);
	} else {
		SG(read_post_bytes) += n;
	}
	return n < 0 ? -1 : n;
}

static int body_stream_close(php_stream *stream, int close_handle)
{
	(void) close_handle;
	hearth_on_request_release(stream->abstract);
	return 0;
}

static int body_stream_flush(php_stream *stream)
{
	(void) stream;
	return 0;
}

static const php_stream_ops body_stream_ops = {
	NULL, body_stream_read, body_stream_close, body_stream_flush, "hearth-body", NULL, NULL, NULL, NULL,
};

ZEND_METHOD(Hearth_Request, stream)
{
	void *request = request_of(ZEND_THIS);
	php_stream *stream;

	ZEND_PARSE_PARAMETERS_NONE();
	if (!hearth_request_is_running(request) || hearth_body_is_broken(hearth_current_request())) {
		return;
	}
	if (SG(request_info).request_body || SG(read_post_bytes)) {
		/* Part of the body was read already: what php://input kept is the whole body. */
		stream = php_stream_open_wrapper("php://input", "rb", REPORT_ERRORS, NULL);
	} else {
		hearth_on_request_retain(request);
		stream = php_stream_alloc(&body_stream_ops, request, NULL, "rb");
	}
	if (stream) {
		php_stream_to_zval(stream, return_value);
	}
}
