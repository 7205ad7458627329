/* From echo to the client: a resident handler prints as a script does. */
#include "engine/engine.h"
#include "mode/mode.h"
#include "request/request.h"

void hearth_send_head(hearth_request_state *state, hearth_response *response, zend_array *own)
{
	state->responded = true;
	SG(headers_sent) = 1;
	SG(request_info).no_headers = false;
	hearth_output_head(state->request, response, own);
}

/* Sends the head now and goes on streaming: for flush(), and for output larger than the buffer. */
static void commit_head(hearth_request_state *state)
{
	hearth_response response = { .kind = HEARTH_BODY_STREAM, .more = true };

	if (state->responded || !state->request) {
		return;
	}
	hearth_run_header_callback();
	if (state->responded) {
		return;
	}
	response.status = hearth_output_status();
	hearth_send_head(state, &response, NULL);
	state->output.streaming = true;
}

size_t hearth_echo(const char *text, size_t length)
{
	hearth_request_state *state = hearth_current_request();

	if (!state || !state->request) {
		return hearth_cli_echo(text, length);
	}
	if (state->output.finished) {
		return length;
	}
	if (state->responded && !state->output.streaming) {
		hearth_log(HEARTH_LOG_WARNING, "%zu bytes echoed after the response was sent are lost: %.*s", length,
			HEARTH_SHOWN(length), text);
		return length;
	}
	if (hearth_output_keep(&state->output, text, length)) {
		commit_head(state);
		hearth_output_send(&state->output, state->request);
	}
	return length;
}

void hearth_discard_echoed(void)
{
	hearth_request_state *state = hearth_current_request();

	/* After an error nothing is discarded: the output of shutdown functions is sent. */
	if (state && state->request && !state->failed) {
		smart_str_free(&state->output.kept);
	}
}

/* Output handed to Rust leaves when this thread runs it: let it run now, as the code after a flush may compute for long. */
void hearth_let_send(void)
{
	if (hearth_hooks_may_wait()) {
		hearth_on_yield();
	}
}

/* The flush of our sapi_module. */
void hearth_flush(void *context)
{
	hearth_request_state *state = hearth_current_request();

	(void) context;
	if (state && state->request && !state->output.finished && (!state->responded || state->output.streaming)) {
		commit_head(state);
		hearth_output_send(&state->output, state->request);
		hearth_let_send();
	}
}
