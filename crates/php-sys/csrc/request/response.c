/* From the handler's return value, headers and echo to one response. */
#include "engine/engine.h"
#include "mode/mode.h"
#include "request/headers.h"
#include "request/request.h"
#include "task/entry.h"

/* Echoed text is kept back up to here, so that header() still works after echo; beyond it the head is sent. */
#define HEARTH_ECHO_KEPT (64 * 1024)

/* How much of a text of this number of bytes the log shows: there need be no end behind them. */
#define SHOWN(length) ((int) MIN(length, 80))

zend_fcall_info hearth_handler;
zend_fcall_info_cache hearth_handler_cache;
zend_class_entry *hearth_response_ce;

/* Slots of Hearth\Response, as php/src declares them. */
enum { RESPONSE_STATUS, RESPONSE_HEADERS, RESPONSE_BODY, RESPONSE_FILE };

static void add_response_headers(hearth_header_list *headers, zend_array *set)
{
	zend_string *name;
	zval *values, *value;

	ZEND_HASH_FOREACH_STR_KEY_VAL(set, name, values) {
		if (!name || Z_TYPE_P(values) != IS_ARRAY) {
			continue;
		}
		ZEND_HASH_FOREACH_VAL(Z_ARRVAL_P(values), value) {
			if (Z_TYPE_P(value) == IS_STRING) {
				hearth_headers_add(headers, (hearth_str){ZSTR_VAL(name), ZSTR_LEN(name)},
					(hearth_str){Z_STRVAL_P(value), Z_STRLEN_P(value)});
			}
		} ZEND_HASH_FOREACH_END();
	} ZEND_HASH_FOREACH_END();
}

/* It may echo, set the status, and wait while other tasks of the request echo: what is sent is looked at afterwards. */
static void run_header_callback(void)
{
	zval callback, result;

	if (Z_TYPE(SG(callback_func)) == IS_UNDEF) {
		return;
	}
	ZVAL_COPY_VALUE(&callback, &SG(callback_func));
	ZVAL_UNDEF(&SG(callback_func));
	if (call_user_function(NULL, NULL, &callback, &result, 0, NULL) == SUCCESS) {
		zval_ptr_dtor(&result);
	}
	zval_ptr_dtor(&callback);
	if (EG(exception)) {
		hearth_report_exception();
	}
}

static bool is_typed(const hearth_header_list *headers)
{
	for (size_t i = 0; i < headers->count; i++) {
		hearth_str name = headers->list[i].name;

		if (name.len == 12 && strncasecmp(name.ptr, "content-type", 12) == 0) {
			return true;
		}
	}
	return false;
}

/* The type that default_mimetype and default_charset make, unless it is the usual one, which needs not be said; to be freed. */
static char *add_default_type(hearth_header_list *headers)
{
	const char *mimetype = SG(default_mimetype), *charset = SG(default_charset);
	char *type;

	if (EXPECTED(mimetype && charset && strcmp(charset, "UTF-8") == 0 && strcmp(mimetype, "text/html") == 0) || is_typed(headers)) {
		return NULL;
	}
	type = sapi_get_default_content_type();
	hearth_headers_add(headers, (hearth_str){"Content-Type", 12}, (hearth_str){type, strlen(type)});
	return type;
}

static void send_head(hearth_request_state *state, hearth_response *response, zend_array *response_headers)
{
	hearth_header_list headers;
	char *type = NULL;

	run_header_callback();
	hearth_headers_init(&headers);
	hearth_headers_add_sapi(&headers, response_headers);
	if (response_headers) {
		add_response_headers(&headers, response_headers);
	}
	if (response->kind != HEARTH_BODY_FILE) {
		type = add_default_type(&headers);
	}
	response->headers = headers.list;
	response->header_count = headers.count;
	state->responded = true;
	SG(headers_sent) = 1;
	SG(request_info).no_headers = false;
	hearth_on_respond(state->request, response);
	hearth_headers_free(&headers);
	if (UNEXPECTED(type)) {
		efree(type);
	}
}

static int sapi_status(void)
{
	int status = SG(sapi_headers).http_response_code;

	return status ? status : 200;
}

/* ---- echo ---- */

/* Send the head now and go on streaming: what flush() and a lot of output do. */
void hearth_commit_head(hearth_request_state *state)
{
	hearth_response response = { .kind = HEARTH_BODY_STREAM, .more = true };

	if (state->responded || !state->request) {
		return;
	}
	run_header_callback();
	if (state->responded) {
		return;
	}
	response.status = sapi_status();
	send_head(state, &response, NULL);
	state->committed = true;
}

static void send_kept(hearth_request_state *state)
{
	smart_str out = state->out;

	state->out = (smart_str){0};
	if (out.s) {
		if (!state->gone && !hearth_on_write(state->request, (hearth_str){ZSTR_VAL(out.s), ZSTR_LEN(out.s)})) {
			state->gone = true;
			PG(connection_status) = PHP_CONNECTION_ABORTED;
		}
		smart_str_free(&out);
	}
}

size_t hearth_echo(const char *text, size_t length)
{
	hearth_request_state *state = hearth_current_request();

	if (!state || !state->request) {
		return hearth_cli_echo(text, length);
	}
	if (state->finished) {
		return length;
	}
	if (state->responded && !state->committed) {
		hearth_log(HEARTH_LOG_WARNING, "%zu bytes echoed after the response was sent are lost: %.*s", length, SHOWN(length), text);
		return length;
	}
	smart_str_appendl(&state->out, text, length);
	if (ZSTR_LEN(state->out.s) >= HEARTH_ECHO_KEPT) {
		hearth_commit_head(state);
		send_kept(state);
	}
	return length;
}

void hearth_discard_echoed(void)
{
	hearth_request_state *state = hearth_current_request();

	/* After the error none is left: what shutdown functions print goes out. */
	if (state && state->request && !state->failed) {
		smart_str_free(&state->out);
	}
}

/* What was handed over leaves when this thread turns to it: now, as the code after a flush may compute for long. */
void hearth_let_send(void)
{
	if (hearth_hooks_may_wait()) {
		hearth_on_yield();
	}
}

/* Our sapi_module.flush. */
void hearth_flush(void *context)
{
	hearth_request_state *state = hearth_current_request();

	(void) context;
	if (state && state->request && !state->finished && (!state->responded || state->committed)) {
		hearth_commit_head(state);
		send_kept(state);
		hearth_let_send();
	}
}

/* ---- the response ---- */

static bool has_after_work(hearth_request_state *state)
{
	return state->deferred != NULL || state->continues;
}

/* What was flushed may have gone through output callbacks that go on, such as a compressor: then the rest goes there too. */
static bool send_piece(hearth_request_state *state, zend_string *piece)
{
	if (state->committed && php_output_get_level() > 0) {
		php_output_write(ZSTR_VAL(piece), ZSTR_LEN(piece));
		return !state->gone;
	}
	send_kept(state);
	return ZSTR_LEN(piece) == 0 || hearth_on_write(state->request, (hearth_str){ZSTR_VAL(piece), ZSTR_LEN(piece)});
}

/*
 * The handler has a response of its own. What stands in output buffers is not sent beside it, so their callbacks are told that it
 * goes: a compressor, say, would set the fields of the response for what it has compressed.
 */
static void drop_buffers(hearth_request_state *state)
{
	php_output_handler **handlers = zend_stack_base(&OG(handlers));

	for (int i = 0; i < php_output_get_level(); i++) {
		if (handlers[i]->buffer.used) {
			smart_str_appendl(&state->out, handlers[i]->buffer.data, handlers[i]->buffer.used);
		}
	}
	php_output_discard_all();
}

/* Of a handler that has a response of its own. */
static void lose_echoed(hearth_request_state *state)
{
	if (!state->committed && state->out.s) {
		hearth_log(HEARTH_LOG_WARNING, "%zu bytes were echoed, but the handler returned a response of its own: "
			"return null to send what is echoed. Lost: %.*s", ZSTR_LEN(state->out.s), SHOWN(ZSTR_LEN(state->out.s)), ZSTR_VAL(state->out.s));
		smart_str_free(&state->out);
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
 * Comes what was echoed before the response, as under php-fpm? Frameworks' handlers return one always, whatever a dump() or a template has
 * printed. Of a handler written for Hearth it is a slip, but for a developer, who sees warnings there.
 */
static bool shows_echoed(zend_array *headers)
{
	return hearth_is_framework() || (PG(display_errors) && is_html(headers));
}

static void respond_string(hearth_request_state *state, zend_string *body, zend_array *headers, int status)
{
	hearth_response response = { .status = status, .kind = HEARTH_BODY_FULL, .more = has_after_work(state) };

	if (state->committed) {
		send_piece(state, body);
		return;
	}
	if (UNEXPECTED(state->out.s) && shows_echoed(headers)) {
		smart_str_append(&state->out, body);
		smart_str_0(&state->out);
		response.body = (hearth_str){ZSTR_VAL(state->out.s), ZSTR_LEN(state->out.s)};
		send_head(state, &response, headers);
		smart_str_free(&state->out);
		return;
	}
	lose_echoed(state);
	response.body = (hearth_str){ZSTR_VAL(body), ZSTR_LEN(body)};
	if (ZSTR_LEN(body) > 4096 && !ZSTR_IS_INTERNED(body)) {
		response.retained = zend_string_copy(body);
	}
	send_head(state, &response, headers);
}

static void respond_echoed(hearth_request_state *state)
{
	hearth_response response = { .kind = HEARTH_BODY_FULL };

	if (state->finished) {
		return;
	}
	if (!state->committed) {
		run_header_callback();
	}
	if (state->committed) {
		send_kept(state);
		return;
	}
	response.status = sapi_status();
	response.more = has_after_work(state);
	if (state->out.s) {
		smart_str_0(&state->out);
		response.body = (hearth_str){ZSTR_VAL(state->out.s), ZSTR_LEN(state->out.s)};
	}
	send_head(state, &response, NULL);
	smart_str_free(&state->out);
}

/* Each piece of an iterable goes out as it comes; the task waits while the client is slow. */
static void stream_pieces(hearth_request_state *state, zval *pieces)
{
	zend_object_iterator *iterator;

	if (Z_TYPE_P(pieces) == IS_ARRAY) {
		zval *piece;

		ZEND_HASH_FOREACH_VAL(Z_ARRVAL_P(pieces), piece) {
			zend_string *text = zval_try_get_string(piece);
			bool sent = text && send_piece(state, text);

			if (text) { zend_string_release(text); }
			if (!sent || EG(exception)) { break; }
		} ZEND_HASH_FOREACH_END();
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
		zend_string *text = piece && !EG(exception) ? zval_try_get_string(piece) : NULL;
		bool sent = text && send_piece(state, text);

		if (text) { zend_string_release(text); }
		if (!sent) { break; }
		iterator->index++;
		iterator->funcs->move_forward(iterator);
	}
	zend_iterator_dtor(iterator);
}

static void respond_object(hearth_request_state *state, zend_object *object)
{
	zval *status = OBJ_PROP_NUM(object, RESPONSE_STATUS), *headers = OBJ_PROP_NUM(object, RESPONSE_HEADERS);
	zval *body = OBJ_PROP_NUM(object, RESPONSE_BODY), *file = OBJ_PROP_NUM(object, RESPONSE_FILE);
	hearth_response response = { .status = (int) Z_LVAL_P(status), .more = true };

	ZVAL_DEREF(headers);
	ZVAL_DEREF(body);
	ZVAL_DEREF(file);
	if (Z_TYPE_P(file) == IS_STRING) {
		lose_echoed(state);
		response.kind = HEARTH_BODY_FILE;
		response.body = (hearth_str){Z_STRVAL_P(file), Z_STRLEN_P(file)};
		response.more = has_after_work(state);
		send_head(state, &response, Z_ARRVAL_P(headers));
	} else if (Z_TYPE_P(body) == IS_STRING) {
		respond_string(state, Z_STR_P(body), Z_ARRVAL_P(headers), response.status);
	} else if (Z_TYPE_P(body) == IS_ARRAY || (Z_TYPE_P(body) == IS_OBJECT && Z_OBJCE_P(body)->get_iterator)) {
		lose_echoed(state);
		response.kind = HEARTH_BODY_STREAM;
		send_head(state, &response, Z_ARRVAL_P(headers));
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

/* An uncaught exception: to the user's exception handler if there is one, else to the log and the client as a 500. */
static void respond_exception(hearth_request_state *state)
{
	zend_string *page;

	/* In a loop that handler is for the script, not for a request; so it is with FrankenPHP. */
	if (Z_TYPE(EG(user_exception_handler)) != IS_UNDEF && !state->continues) {
		zend_user_exception_handler();
		if (!EG(exception)) {
			respond_echoed(state);
			return;
		}
	}
	page = exception_page(state);
	hearth_report_exception();
	smart_str_free(&state->out);
	if (!state->responded) {
		zend_llist_clean(&SG(sapi_headers).headers);
		respond_string(state, page, NULL, 500);
	}
	zend_string_release(page);
}

static void respond_value(hearth_request_state *state, zval *value)
{
	static zend_function *to_response;
	zval converted;

	switch (Z_TYPE_P(value)) {
		case IS_STRING:
			respond_string(state, Z_STR_P(value), NULL, sapi_status());
			return;
		case IS_NULL:
		case IS_UNDEF:
			respond_echoed(state);
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
		php_output_end_all();
		respond_echoed(state);
	}
	zval_ptr_dtor(&converted);
}

static bool is_stream(zval *result)
{
	return Z_TYPE_P(result) == IS_OBJECT
		&& (Z_OBJCE_P(result) != hearth_response_ce || Z_TYPE_P(OBJ_PROP_NUM(Z_OBJ_P(result), RESPONSE_BODY)) != IS_STRING);
}

static void end_buffers(hearth_request_state *state, const zval *result)
{
	bool is_echoed = Z_TYPE_P(result) == IS_NULL || Z_TYPE_P(result) == IS_UNDEF;

	if (is_echoed || (state->responded && !state->committed)) {
		php_output_end_all();
	} else if (!state->committed) {
		drop_buffers(state);
	}
}

static void settle(hearth_request_state *state, zval *result)
{
	if (EG(exception) && zend_is_unwind_exit(EG(exception))) {
		zend_clear_exception();
	}
	/* A streamed body must not wait for children that feed it; they are waited for afterwards. */
	if (state->tasks > 1 && !EG(exception) && !is_stream(result)) {
		hearth_on_join_children(false);
	}
	if (!EG(exception)) {
		if (UNEXPECTED(BG(user_shutdown_function_names))) {
			hearth_run_shutdown_functions();
		}
		end_buffers(state, result);
	}
	if (!EG(exception)) {
		respond_value(state, result);
	}
	if (EG(exception) && zend_is_unwind_exit(EG(exception))) {
		zend_clear_exception();
		respond_echoed(state);
	}
	if (EG(exception)) {
		state->failed = true;
		php_output_discard_all();
		respond_exception(state);
		hearth_run_shutdown_functions();
	}
}

static void end_stream(hearth_request_state *state)
{
	if (state->committed) {
		php_output_end_all();
		send_kept(state);
		hearth_on_finish(state->request, (hearth_str){NULL, 0});
	}
}

/* A loop's callback has ended: answer with what it echoed, or threw, and let that go out before the script goes on. */
void hearth_request_answer(hearth_request_state *state)
{
	zval nothing;

	ZVAL_NULL(&nothing);
	state->continues = true;
	settle(state, &nothing);
	end_stream(state);
	state->finished = true;
	if (hearth_hooks_may_wait()) {
		hearth_on_yield();
	}
	if (EG(exception)) {
		hearth_report_exception();
	}
}

/*
 * After a fatal error the client gets what was echoed, as under php-fpm: error pages come from shutdown functions. Where nothing
 * was, it gets the page of an exception.
 */
void hearth_request_answer_broken(hearth_request_state *state)
{
	if (state->finished || state->gone) {
		return;
	}
	state->continues = false;
	state->deferred = NULL;
	if (state->committed) {
		send_kept(state);
	} else if (!state->responded) {
		zend_string *page = SG(sapi_headers).http_response_code == 500 ? hearth_fatal_page(state) : NULL;

		if (page) {
			smart_str_free(&state->out);
			zend_llist_clean(&SG(sapi_headers).headers);
			smart_str_append(&state->out, page);
			zend_string_release(page);
		} else if (!state->out.s && SG(sapi_headers).http_response_code == 500) {
			zend_llist_clean(&SG(sapi_headers).headers);
			smart_str_appends(&state->out, "Internal Server Error\n");
		}
		respond_echoed(state);
	}
}

/* The response is complete, the code goes on. */
bool hearth_request_finish(hearth_request_state *state)
{
	if (state->finished) {
		return false;
	}
	state->continues = true;
	php_output_end_all();
	respond_echoed(state);
	end_stream(state);
	state->finished = true;
	if (hearth_hooks_may_wait()) {
		hearth_on_yield();
	}
	return true;
}

/* A loop whose script has ended: a request that came too late for it. Its worker is about to be replaced. */
static bool nobody_handles(hearth_request_state *state)
{
	static const char retry_after[] = "Retry-After: 1", last[] = "Connection: close";

	if (!hearth_loop) {
		return false;
	}
	sapi_add_header(retry_after, sizeof retry_after - 1, true);
	sapi_add_header(last, sizeof last - 1, true);
	SG(sapi_headers).http_response_code = 503;
	smart_str_appends(&state->out, "Service Unavailable\n");
	respond_echoed(state);
	return true;
}

void hearth_request_run(hearth_task *task)
{
	hearth_request_state *state = task->request;
	zend_fcall_info fci = hearth_handler;
	zval result, argument;

	if (UNEXPECTED(nobody_handles(state))) {
		hearth_request_end(task);
		php_output_deactivate();
		return;
	}
	hearth_boot_settings_apply();
	ZVAL_UNDEF(&result);
	ZVAL_OBJ(&argument, hearth_request_object_new(state->request));
	state->request_object = Z_OBJ(argument);
	fci.retval = &result;
	fci.params = &argument;
	fci.param_count = 1;
	zend_call_function(&fci, &hearth_handler_cache);
	hearth_bail_out_of_memory();
	settle(state, &result);
	zval_ptr_dtor(&result);
	if (state->committed) {
		php_output_end_all();
		send_kept(state);
	}
	hearth_request_end(task);
	php_output_deactivate();
}

/* A string that a response kept: its bytes were sent. */
void hearth_release(void *retained)
{
	zend_string_release((zend_string *) retained);
}
