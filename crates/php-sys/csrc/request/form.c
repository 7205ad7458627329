/*
 * The body of a request is read and parsed once, by one of the request's tasks, which may wait for the body in the middle;
 * the request's other tasks wait until it is parsed.
 */
#include "mode/mode.h"
#include "request/request.h"
#include "task/no_suspend.h"

/* ---- one reader at a time ---- */

/* Why a read returned less than there is; the engine takes a short read for the last. */
typedef enum { COMPLETE = 0, TASK_ENDED, FAILED } end_of_read;

static end_of_read cut;

/* Called before another task may read on: the engine must not think that the body has ended. */
void hearth_body_mend(void)
{
	if (UNEXPECTED(cut)) {
		cut = COMPLETE;
		SG(post_read) = 0;
	}
}

static void throw_unreadable(void *request, end_of_read why)
{
	static const char ended[] = "The body of the request cannot be read: the task that parsed it was ended in the middle";

	if (why == TASK_ENDED) {
		hearth_throw(HEARTH_THROW_ERROR, (hearth_str){ended, sizeof ended - 1});
	} else {
		hearth_throw(HEARTH_THROW_CANCELLED, hearth_on_body_error(request));
	}
}

static bool wait_for_reader(hearth_request_state *state)
{
	hearth_task *task = hearth_current;
	int woken;

	if (state->body_reader->broken) {
		throw_unreadable(state->request, TASK_ENDED);
		return false;
	}
	if (!hearth_may_suspend()) {
		hearth_refuse_wait();
		return false;
	}
	state->body_waiters++;
	task->awaits_body = true;
	woken = hearth_on_park(-1);
	task->awaits_body = false;
	state->body_waiters--;
	hearth_bail_out_if_fatal();
	return woken != 2;
}

/* Waits until no other task reads the body. False: an exception is pending. */
bool hearth_body_lock(hearth_request_state *state)
{
	while (UNEXPECTED(state->body_reader)) {
		if (!wait_for_reader(state)) {
			return false;
		}
	}
	state->body_reader = hearth_current;
	hearth_body_mend();
	return true;
}

void hearth_body_unlock(hearth_request_state *state)
{
	state->body_reader = NULL;
	if (UNEXPECTED(state->body_waiters)) {
		hearth_task_unpark_readers(state);
	}
}

/* ---- reading ---- */

/* Handles the end of the body; otherwise throws, because PHP code must not take a part of the body for all of it. */
void hearth_body_read_ended(void *request, ptrdiff_t n)
{
	if (n == 0) {
		return;
	}
	cut = EG(exception) ? TASK_ENDED : FAILED;
	if (cut != TASK_ENDED) {
		hearth_request_state *state = hearth_current_request();

		if (state) {
			state->body_broken = true;
			/* php://input has not reached the end either, whatever it or stream() has read of the body. */
			SG(read_post_bytes) = INT64_MIN / 2;
		}
		throw_unreadable(request, cut);
	}
}

bool hearth_body_is_broken(hearth_request_state *state)
{
	if (UNEXPECTED(state->body_broken)) {
		throw_unreadable(state->request, FAILED);
	}
	return state->body_broken;
}

static size_t read_fully(void *request, char *buffer, size_t length, ptrdiff_t *last)
{
	size_t done = 0;

	/* The engine takes a short count for the end, so the buffer is filled. */
	while (done < length && (*last = hearth_on_body_read(request, buffer + done, length - done)) > 0) {
		done += (size_t) *last;
	}
	return done;
}

/* The read_post of our sapi_module. */
size_t hearth_read_post(char *buffer, size_t length)
{
	hearth_request_state *state = hearth_current_request();
	bool parsing = state && state->body_reader == hearth_current;
	ptrdiff_t last = 1;
	size_t done;

	if (!SG(server_context)) {
		return 0;
	}
	if (!state) {
		done = read_fully(SG(server_context), buffer, length, &last);
		if (last < 0) {
			hearth_classic_body_failed = true;
			throw_unreadable(SG(server_context), FAILED);
		}
		return done;
	}
	if (parsing && state->body_failed) {
		/* The parser of uploads reads again after a failed read. */
		return 0;
	}
	if (!parsing && !hearth_body_lock(state)) {
		cut = TASK_ENDED;
		return 0;
	}
	done = read_fully(SG(server_context), buffer, length, &last);
	if (last <= 0) {
		hearth_body_read_ended(SG(server_context), last);
	}
	if (parsing) {
		state->body_failed = (unsigned char) cut;
	} else {
		hearth_body_unlock(state);
	}
	return done;
}

/* ---- parsing ---- */

static bool is_form_type(const char *type, const char *expected)
{
	size_t length = strlen(expected);

	return strncasecmp(type, expected, length) == 0 && (type[length] == '\0' || strchr(";, ", type[length]));
}

/*
 * Whether there is a body that the engine would have parsed before the script began. A form that php://input has
 * read can still be parsed.
 */
bool hearth_form_is_due(void)
{
	sapi_request_info *info = &SG(request_info);

	if (!info->content_type || !info->request_method || strcmp(info->request_method, "POST") != 0 || !PG(enable_post_data_reading)) {
		return false;
	}
	return info->request_body ? is_form_type(info->content_type, DEFAULT_POST_CONTENT_TYPE) : !SG(read_post_bytes);
}

/* Whether the body may be parsed here and now. */
bool hearth_form_is_readable(hearth_request_state *state, bool needed)
{
	bool readable;

	if (state->body_failed) {
		if (needed) {
			throw_unreadable(state->request, (end_of_read) state->body_failed);
		}
		return false;
	}
	if (state->body_reader && state->body_reader != hearth_current) {
		/* Another task is parsing the body, and goes on doing so. */
		readable = needed && hearth_may_suspend();
	} else {
		readable = hearth_may_suspend() || hearth_on_body_arrived(state->request);
	}
	if (!readable && needed) {
		hearth_refuse_wait();
	}
	return readable;
}

/* Reads the rest of the body, behind what php://input has kept. */
static void read_rest(void)
{
	php_stream *input = php_stream_open_wrapper("php://input", "rb", REPORT_ERRORS, NULL);
	char buffer[8192];

	while (input && !EG(exception) && !php_stream_eof(input)) {
		if (php_stream_read(input, buffer, sizeof buffer) <= 0) {
			break;
		}
	}
	if (input) {
		php_stream_close(input);
	}
}

/*
 * Does what sapi_activate() does for a request with a body, but when the body is needed: finds the parser for the body's
 * type and lets it read the body. A multipart body is read while it is parsed. False if the body is not to be parsed now.
 */
bool hearth_form_prepare(hearth_request_state *state)
{
	sapi_post_entry *entry;
	char *type = estrdup(SG(request_info).content_type);
	size_t len = strcspn(type, ";, ");

	zend_str_tolower(type, len);
	entry = zend_hash_str_find_ptr(&SG(known_post_content_types), type, len);
	if (SG(request_info).content_type_dup) {
		efree(SG(request_info).content_type_dup);
	}
	SG(request_info).content_type_dup = type;
	SG(request_info).post_entry = entry;
	if (SG(request_info).request_body) {
		read_rest();
	} else if (entry && entry->post_reader) {
		entry->post_reader();
	} else if (sapi_module.default_post_reader) {
		sapi_module.default_post_reader();
	}
	if (state->body_failed) {
		/* The next reader goes on where this read stopped. */
		state->body_failed = COMPLETE;
		return false;
	}
	return true;
}

/* The rest of an upload whose parsing was ended in the middle is of no use. */
void hearth_form_parsed(hearth_request_state *state)
{
	state->body_due = state->body_failed != COMPLETE;
	state->records_progress = false;
}
