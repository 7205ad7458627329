/*
 * Process-wide state that is not exchanged at a switch: signals, limits, the priority, users and groups. It is put
 * back when no request that has changed it runs any more. With one request at a time, the connections that
 * extensions keep are ended too.
 */
#include "engine/engine.h"
#include "engine/process_facts.h"

/* Whether the process runs one request at a time: decided once the handler is known. */
static bool alone;

/* The number of requests in flight that have changed process-wide state. */
static uint32_t changers;
static bool restoring;

void hearth_process_state_restores(bool one_at_a_time)
{
	alone = one_at_a_time;
}

/* ---- before a function changes it ---- */

void hearth_process_state_note(void)
{
	hearth_request_state *state = hearth_current_request();

	if (restoring) {
		return;
	}
	if (state && state->request && !state->changes_process) {
		state->changes_process = true;
		changers++;
	} else if (!alone || !hearth_current) {
		return;
	}
	hearth_process_note();
}

static void restore_signals_and_limits(hearth_request_state *state)
{
	changers -= state->changes_process;
	state->changes_process = false;
	if (!changers) {
		restoring = true;
		hearth_process_restore();
		restoring = false;
	}
}

/* Called when a request has ended. */
void hearth_process_state_restore(hearth_request_state *state)
{
	if (UNEXPECTED(state->changes_process) || alone) {
		restore_signals_and_limits(state);
	}
	if (alone) {
		hearth_connections_end();
		zend_memory_reset_peak_usage();
	}
}
