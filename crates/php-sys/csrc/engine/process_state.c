/*
 * Process-wide state that is not exchanged at a switch: signals, limits, the priority, users and groups. It is put
 * back when no request that has changed it runs any more, and none of the background work that has, unless a request that has
 * ends earlier: background work may go on for as long as the process. With one request at a time, the connections that
 * extensions keep are ended too.
 *
 * In classic mode it is put back when the engine has ended the request; connections that extensions keep stay, as under php-fpm.
 */
#include "engine/engine.h"
#include "engine/process_facts.h"
#include "mode/mode.h"
#include "request/request.h"

/* Whether the process runs one request at a time: decided once the handler is known. */
static bool alone;

/* How many requests, and how much background work, have changed process-wide state and have not ended. */
static uint32_t requests, background;
/* Which these were, for the log. */
static char names[512];
static bool restoring;

void hearth_process_state_restores(bool one_at_a_time)
{
	alone = one_at_a_time;
}

/* ---- before a function changes it ---- */

/* PHP's snprintf() looks for the end of each text, whatever its precision says; the texts of a head have none, spprintf() may have them. */
static void add_name(void *request)
{
	hearth_request_head head;
	char id[16], *name;

	if (*names) {
		strlcat(names, ", ", sizeof names);
	}
	if (!request) {
		strlcat(names, "background work", sizeof names);
		return;
	}
	hearth_on_head(request, &head);
	hearth_on_request_id(request, id);
	spprintf(&name, 0, "%.*s %.*s request=%.16s", HEARTH_SHOWN(head.method.len), head.method.ptr, HEARTH_SHOWN(head.path.len), head.path.ptr, id);
	strlcat(names, name, sizeof names);
	efree(name);
}

static void count(hearth_request_state *state)
{
	if (!state->changes_process) {
		add_name(state->request);
		state->changes_process = true;
		*(state->request ? &requests : &background) += 1;
	}
}

/* The handlers of ext/pcntl end with the life of the engine, and so does the memory that they would be kept in. */
static void note_classic(void)
{
	if (!*names) {
		add_name(SG(server_context));
		hearth_process_note(false);
	}
}

void hearth_process_state_note(void)
{
	hearth_request_state *state = hearth_current_request();

	if (restoring) {
		return;
	}
	if (hearth_classic_script()) {
		note_classic();
		return;
	}
	if (state && (state->request || !alone)) {
		count(state);
	} else if (!alone || !hearth_current) {
		return;
	} else if (state && !*names) {
		add_name(state->request);
	}
	hearth_process_note(true);
}

/* Nothing else may run in a process that a request has changed for good. */
static void leave(const char *changed)
{
	char reason[sizeof names + 128];
	int length = snprintf(reason, sizeof reason, "a request has changed %s of the process for good requests=[%s]", changed, names);

	hearth_on_leave((hearth_str){reason, (size_t) length}, true);
}

static void restore(void)
{
	const char *left;

	restoring = true;
	left = hearth_process_restore();
	restoring = false;
	if (UNEXPECTED(left)) {
		leave(left);
	}
	*names = '\0';
	if (UNEXPECTED(background)) {
		snprintf(names, sizeof names, "background work");
		hearth_process_note(true);
	}
}

void hearth_process_state_restore_classic(void)
{
	if (UNEXPECTED(*names)) {
		restore();
	}
}

/* Called when a request, or background work, has ended, by a fatal error too. */
void hearth_process_state_put_back(hearth_request_state *state)
{
	if (EXPECTED(!state->changes_process)) {
		return;
	}
	state->changes_process = false;
	*(state->request ? &requests : &background) -= 1;
	if (!requests && (state->request || !background)) {
		restore();
	}
}

/* Called when a request has ended while the process runs one at a time. */
static void put_all_back(void)
{
	restore();
	hearth_connections_end();
	zend_memory_reset_peak_usage();
}

void hearth_process_state_restore(hearth_request_state *state)
{
	hearth_process_state_put_back(state);
	if (alone && state->request) {
		put_all_back();
	}
}
