/*
 * session.upload_progress: while an upload is parsed, its progress is written to the session that the client names. The
 * extension does so only before the script begins: it checks whether the modules have been activated for the request.
 */
#include "engine/engine.h"
#include "request/request.h"

static zend_result (*record)(unsigned int event, void *data, void **extra);

/* If the parser ends early, an exception is pending; with it, serialize() would write an empty session. */
static zend_result record_in_peace(unsigned int event, void *data, void **extra)
{
	hearth_pending pending;
	zend_result result;

	hearth_exception_put_aside(&pending);
	result = record(event, data, extra);
	hearth_exception_take_back(&pending);
	return result;
}

/* It may wait for the lock of the session: PG(modules_activated) is the task's own. */
static zend_result on_upload_event(unsigned int event, void *data, void **extra)
{
	hearth_request_state *state = hearth_current_request();
	bool activated = PG(modules_activated);
	zend_result result;

	if (state && state->body_reader == hearth_current && state->records_progress) {
		PG(modules_activated) = false;
	}
	result = record_in_peace(event, data, extra);
	PG(modules_activated) = activated;
	return result;
}

void hearth_upload_progress_hook(void)
{
	record = php_rfc1867_callback;
	if (record) {
		php_rfc1867_callback = on_upload_event;
	}
}

/* Called before an upload is parsed: a session that the script has already opened is left alone. */
void hearth_upload_progress_begin(hearth_request_state *state)
{
	state->records_progress = !hearth_session_in_use();
}
