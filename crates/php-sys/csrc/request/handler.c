/* Calls the handler with a request, and makes sure that there is exactly one response, however the handler ends. */
#include "engine/engine.h"
#include "request/request.h"
#include "session/session.h"
#include "task/entry.h"

zend_fcall_info hearth_handler;
zend_fcall_info_cache hearth_handler_cache;

/*
 * The handler returned a response of its own. The content of output buffers is not sent beside it, so their
 * callbacks are told that the content is discarded: a compressor, for example, would otherwise set the header fields
 * for what it has compressed.
 */
static void drop_buffers(hearth_request_state *state)
{
	php_output_handler **handlers = zend_stack_base(&OG(handlers));

	for (int i = 0; i < php_output_get_level(); i++) {
		if (handlers[i]->buffer.used) {
			smart_str_appendl(&state->output.kept, handlers[i]->buffer.data, handlers[i]->buffer.used);
		}
	}
	hearth_buffers_drop();
}

static void end_buffers(hearth_request_state *state, const zval *result)
{
	bool is_echoed = Z_TYPE_P(result) == IS_NULL || Z_TYPE_P(result) == IS_UNDEF;

	if (is_echoed || (state->responded && !state->output.streaming)) {
		hearth_buffers_end();
	} else if (!state->output.streaming) {
		drop_buffers(state);
	}
}

static void settle(hearth_request_state *state, zval *result)
{
	if (EG(exception) && zend_is_unwind_exit(EG(exception))) {
		zend_clear_exception();
	}
	/* A streamed body must not wait for the children that feed it; they are awaited afterwards. */
	if (state->tasks > 1 && !EG(exception) && !hearth_response_is_stream(result)) {
		hearth_on_join_children(false);
	}
	if (!EG(exception)) {
		if (UNEXPECTED(BG(user_shutdown_function_names))) {
			hearth_run_shutdown_functions();
		}
		end_buffers(state, result);
	}
	if (!EG(exception)) {
		hearth_respond_value(state, result);
	}
	if (EG(exception) && zend_is_unwind_exit(EG(exception))) {
		zend_clear_exception();
		hearth_respond_echoed(state);
	}
	if (EG(exception)) {
		state->failed = true;
		hearth_buffers_drop();
		hearth_respond_exception(state);
		hearth_run_shutdown_functions();
	}
}

static void end_stream(hearth_request_state *state)
{
	if (state->output.streaming) {
		hearth_buffers_end();
		hearth_output_send(&state->output, state->request);
		hearth_on_finish(state->request, (hearth_str){NULL, 0});
	}
}

/* Answers when a FrankenPHP loop's callback has ended: sends its output or its error before the script goes on. */
void hearth_request_answer(hearth_request_state *state)
{
	zval nothing;

	ZVAL_NULL(&nothing);
	state->continues = true;
	settle(state, &nothing);
	end_stream(state);
	state->output.finished = true;
	if (hearth_hooks_may_wait()) {
		hearth_on_yield();
	}
	if (EG(exception)) {
		hearth_report_exception();
	}
}

/*
 * After a fatal error the client gets what was echoed, as under php-fpm: error pages come from shutdown functions. If
 * nothing was echoed, it gets the same page as for an exception.
 */
void hearth_request_answer_broken(hearth_request_state *state)
{
	if (state->output.finished || state->output.gone) {
		return;
	}
	state->continues = false;
	state->deferred = NULL;
	if (state->output.streaming) {
		hearth_output_send(&state->output, state->request);
	} else if (!state->responded) {
		zend_string *page = SG(sapi_headers).http_response_code == 500 ? hearth_fatal_page(state) : NULL;

		if (page) {
			smart_str_free(&state->output.kept);
			zend_llist_clean(&SG(sapi_headers).headers);
			smart_str_append(&state->output.kept, page);
			zend_string_release(page);
		} else if (!state->output.kept.s && SG(sapi_headers).http_response_code == 500) {
			zend_llist_clean(&SG(sapi_headers).headers);
			smart_str_appends(&state->output.kept, "Internal Server Error\n");
		}
		hearth_respond_echoed(state);
	}
}

/* Completes the response; the code goes on. */
bool hearth_request_finish(hearth_request_state *state)
{
	if (state->output.finished) {
		return false;
	}
	state->continues = true;
	hearth_buffers_end();
	hearth_respond_echoed(state);
	end_stream(state);
	state->output.finished = true;
	if (hearth_hooks_may_wait()) {
		hearth_on_yield();
	}
	return true;
}

/* Answers 503 to a request that arrives after a FrankenPHP loop's script has ended. Its worker is about to be replaced. */
static bool is_too_late(hearth_request_state *state)
{
	static const char retry_after[] = "Retry-After: 1", last[] = "Connection: close";

	if (!hearth_loop) {
		return false;
	}
	sapi_add_header(retry_after, sizeof retry_after - 1, true);
	sapi_add_header(last, sizeof last - 1, true);
	SG(sapi_headers).http_response_code = 503;
	smart_str_appends(&state->output.kept, "Service Unavailable\n");
	hearth_respond_echoed(state);
	return true;
}

void hearth_request_run(hearth_task *task)
{
	hearth_request_state *state = task->request;
	zend_fcall_info fci = hearth_handler;
	zval result, argument;

	if (UNEXPECTED(is_too_late(state))) {
		hearth_request_end(task);
		php_output_deactivate();
		return;
	}
	hearth_boot_settings_apply();
	hearth_session_auto_start();
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
	if (state->output.streaming) {
		hearth_buffers_end();
		hearth_output_send(&state->output, state->request);
	}
	hearth_request_end(task);
	php_output_deactivate();
}

/* Releases a string that a response retained: its bytes were sent. */
void hearth_release(void *retained)
{
	zend_string_release((zend_string *) retained);
}
