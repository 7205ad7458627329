/* Makes one response from the handler's return value. */
#include "engine/engine.h"
#include "request/request.h"

zend_class_entry *hearth_response_ce;

/* Property slots of Hearth\Response, as php/src declares them. */
enum { RESPONSE_STATUS, RESPONSE_HEADERS, RESPONSE_BODY, RESPONSE_FILE };

/* The callback may echo, and change the status, the headers and even the response: what is sent is read afterwards. */
static void run_header_callback(const hearth_request_state *state)
{
	if (!state->responded) {
		hearth_run_header_callback();
	}
}

static bool has_after_work(hearth_request_state *state)
{
	return state->deferred != NULL || state->continues;
}

/* Flushed output may have gone through output callbacks that go on, such as a compressor: then the rest goes there too. */
static bool send_piece(hearth_request_state *state, zend_string *piece)
{
	if (state->output.streaming && php_output_get_level() > 0) {
		/* A callback may release the value that the piece is part of. */
		zend_string_addref(piece);
		php_output_write(ZSTR_VAL(piece), ZSTR_LEN(piece));
		zend_string_release(piece);
		return !state->output.gone;
	}
	hearth_output_send(&state->output, state->request);
	return ZSTR_LEN(piece) == 0 || hearth_on_write(state->request, (hearth_str){ZSTR_VAL(piece), ZSTR_LEN(piece)});
}

/* Drops what was echoed beside a response that the handler returned. */
static void lose_echoed(hearth_request_state *state)
{
	if (!state->output.streaming && state->output.kept.s) {
		hearth_log(HEARTH_LOG_WARNING, "%zu bytes were echoed, but the handler returned a response of its own: "
			"return null to send what is echoed. Lost: %.*s", ZSTR_LEN(state->output.kept.s), HEARTH_SHOWN(ZSTR_LEN(state->output.kept.s)), ZSTR_VAL(state->output.kept.s));
		smart_str_free(&state->output.kept);
	}
}

static bool is_html(zend_array *headers)
{
	zend_string *name;
	zval *values;

	ZEND_HASH_FOREACH_STR_KEY_VAL(headers ? headers : (zend_array *) &zend_empty_array, name, values) {
		zval *type = name && zend_string_equals_literal_ci(name, "content-type") && Z_TYPE_P(values) == IS_ARRAY
			? zend_hash_index_find(Z_ARRVAL_P(values), 0) : NULL;

		if (type && Z_TYPE_P(type) == IS_STRING) {
			return strncasecmp(Z_STRVAL_P(type), "text/html", 9) == 0;
		}
	} ZEND_HASH_FOREACH_END();
	return !SG(sapi_headers).mimetype || strncasecmp(SG(sapi_headers).mimetype, "text/html", 9) == 0;
}

/*
 * Whether what was echoed is sent before the response, as under php-fpm. Handlers of frameworks always return a response,
 * whatever a dump() or a template has printed. In a handler written for Hearth it is a mistake, but shown to a developer,
 * who sees warnings there.
 */
static bool shows_echoed(zend_array *headers)
{
	return hearth_is_framework() || (PG(display_errors) && is_html(headers));
}

static void respond_string(hearth_request_state *state, zend_string *body, zend_array *headers, int status)
{
	hearth_response response = { .status = status, .kind = HEARTH_BODY_FULL, .more = has_after_work(state) };

	if (state->output.streaming) {
		send_piece(state, body);
		return;
	}
	if (UNEXPECTED(state->output.kept.s) && shows_echoed(headers)) {
		smart_str_append(&state->output.kept, body);
		smart_str_0(&state->output.kept);
		response.body = (hearth_str){ZSTR_VAL(state->output.kept.s), ZSTR_LEN(state->output.kept.s)};
		hearth_send_head(state, &response, headers);
		smart_str_free(&state->output.kept);
		return;
	}
	lose_echoed(state);
	response.body = (hearth_str){ZSTR_VAL(body), ZSTR_LEN(body)};
	if (ZSTR_LEN(body) > 4096 && !ZSTR_IS_INTERNED(body)) {
		response.retained = zend_string_copy(body);
	}
	hearth_send_head(state, &response, headers);
}

void hearth_respond_echoed(hearth_request_state *state)
{
	hearth_response response = { .kind = HEARTH_BODY_FULL };

	if (state->output.finished) {
		return;
	}
	run_header_callback(state);
	if (state->output.streaming) {
		hearth_output_send(&state->output, state->request);
		return;
	}
	response.status = hearth_output_status();
	response.more = has_after_work(state);
	if (state->output.kept.s) {
		smart_str_0(&state->output.kept);
		response.body = (hearth_str){ZSTR_VAL(state->output.kept.s), ZSTR_LEN(state->output.kept.s)};
	}
	hearth_send_head(state, &response, NULL);
	smart_str_free(&state->output.kept);
}

/* Sends one piece; false: no more is to be sent. Code of the object may remove the object from its container. */
static bool send_value(hearth_request_state *state, zval *piece)
{
	zend_string *text;
	zval own;
	bool sent;

	ZVAL_COPY_DEREF(&own, piece);
	text = zval_try_get_string(&own);
	zval_ptr_dtor(&own);
	if (!text) {
		return false;
	}
	sent = send_piece(state, text);
	zend_string_release(text);
	return sent && !EG(exception);
}

static void stream_array(hearth_request_state *state, zval *pieces)
{
	zval own, *piece;

	ZVAL_COPY(&own, pieces);
	ZEND_HASH_FOREACH_VAL(Z_ARRVAL(own), piece) {
		if (!send_value(state, piece)) {
			break;
		}
	} ZEND_HASH_FOREACH_END();
	zval_ptr_dtor(&own);
}

/* Sends each piece of an iterable as it comes; the task waits while the client is slow. */
static void stream_pieces(hearth_request_state *state, zval *pieces)
{
	zend_object_iterator *iterator;

	if (Z_TYPE_P(pieces) == IS_ARRAY) {
		stream_array(state, pieces);
		return;
	}
	iterator = Z_OBJCE_P(pieces)->get_iterator(Z_OBJCE_P(pieces), pieces, 0);
	if (!iterator || EG(exception)) {
		return;
	}
	iterator->index = 0;
	if (iterator->funcs->rewind) {
		iterator->funcs->rewind(iterator);
	}
	while (!EG(exception) && iterator->funcs->valid(iterator) == SUCCESS && !EG(exception)) {
		zval *piece = iterator->funcs->get_current_data(iterator);

		if (!piece || EG(exception) || !send_value(state, piece)) {
			break;
		}
		iterator->index++;
		iterator->funcs->move_forward(iterator);
	}
	zend_iterator_dtor(iterator);
}

static void respond_object(hearth_request_state *state, zend_object *object)
{
	zval *status = OBJ_PROP_NUM(object, RESPONSE_STATUS), *headers = OBJ_PROP_NUM(object, RESPONSE_HEADERS);
	zval *body = OBJ_PROP_NUM(object, RESPONSE_BODY), *file = OBJ_PROP_NUM(object, RESPONSE_FILE);
	hearth_response response = { .more = true };

	run_header_callback(state);
	response.status = (int) Z_LVAL_P(status);
	ZVAL_DEREF(headers);
	ZVAL_DEREF(body);
	ZVAL_DEREF(file);
	if (Z_TYPE_P(file) == IS_STRING) {
		lose_echoed(state);
		response.kind = HEARTH_BODY_FILE;
		response.body = (hearth_str){Z_STRVAL_P(file), Z_STRLEN_P(file)};
		response.more = has_after_work(state);
		hearth_send_head(state, &response, Z_ARRVAL_P(headers));
	} else if (Z_TYPE_P(body) == IS_STRING) {
		respond_string(state, Z_STR_P(body), Z_ARRVAL_P(headers), response.status);
	} else if (Z_TYPE_P(body) == IS_ARRAY || (Z_TYPE_P(body) == IS_OBJECT && Z_OBJCE_P(body)->get_iterator)) {
		lose_echoed(state);
		response.kind = HEARTH_BODY_STREAM;
		hearth_send_head(state, &response, Z_ARRVAL_P(headers));
		stream_pieces(state, body);
	}
}

static zend_string *exception_page(hearth_request_state *state)
{
	zend_object *exception = EG(exception);
	zend_string *page;

	if (!PG(display_errors) || !exception || zend_is_unwind_exit(exception)) {
		return zend_string_init(ZEND_STRL("Internal Server Error\n"), 0);
	}
	EG(exception) = NULL;
	page = hearth_exception_page(state, exception);
	EG(exception) = exception;
	return page;
}

/* Passes an uncaught exception to the user's exception handler; without one to the log, and as a 500 to the client. */
void hearth_respond_exception(hearth_request_state *state)
{
	zend_string *page;

	/* In a FrankenPHP loop that handler belongs to the script, not to a request, as with FrankenPHP. */
	if (Z_TYPE(EG(user_exception_handler)) != IS_UNDEF && !state->continues) {
		zend_user_exception_handler();
		if (!EG(exception)) {
			if (state->responded && !state->output.streaming) {
				hearth_on_break_off(state->request);
			}
			hearth_respond_echoed(state);
			return;
		}
	}
	if (!zend_is_unwind_exit(EG(exception))) {
		EG(exit_status) = 255;
	}
	page = exception_page(state);
	hearth_report_exception();
	smart_str_free(&state->output.kept);
	if (!state->responded) {
		zend_llist_clean(&SG(sapi_headers).headers);
		run_header_callback(state);
		respond_string(state, page, NULL, 500);
	} else {
		hearth_on_break_off(state->request);
	}
	zend_string_release(page);
}

void hearth_respond_value(hearth_request_state *state, zval *value)
{
	static zend_function *to_response;
	zval converted;

	switch (Z_TYPE_P(value)) {
		case IS_STRING:
			run_header_callback(state);
			respond_string(state, Z_STR_P(value), NULL, hearth_output_status());
			return;
		case IS_NULL:
		case IS_UNDEF:
			hearth_respond_echoed(state);
			return;
		case IS_OBJECT:
			if (Z_OBJCE_P(value) == hearth_response_ce) {
				respond_object(state, Z_OBJ_P(value));
				return;
			}
	}
	ZVAL_UNDEF(&converted);
	hearth_prelude_call(&to_response, "Hearth\\Internal\\ResponseConverter", "toResponse", 1, value, &converted);
	if (Z_TYPE(converted) == IS_OBJECT && !EG(exception)) {
		respond_object(state, Z_OBJ(converted));
	} else if (Z_TYPE(converted) == IS_NULL && !EG(exception)) {
		hearth_buffers_end();
		hearth_respond_echoed(state);
	}
	zval_ptr_dtor(&converted);
}

bool hearth_response_is_stream(const zval *result)
{
	return Z_TYPE_P(result) == IS_OBJECT
		&& (Z_OBJCE_P(result) != hearth_response_ce || Z_TYPE_P(OBJ_PROP_NUM(Z_OBJ_P(result), RESPONSE_BODY)) != IS_STRING);
}
