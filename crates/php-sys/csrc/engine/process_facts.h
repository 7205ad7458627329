/* State of the process that the kernel keeps and functions of PHP change: see engine/process_facts.c. */
#ifndef HEARTH_GROUND_PROCESS_H
#define HEARTH_GROUND_PROCESS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* State of the process before a call, to be put back after it. */
typedef struct {
	uint8_t kept;
	char locale[256];
	struct sigaction actions[32];
	sigset_t blocked;
} hearth_process_state;

void hearth_process_keep(hearth_process_state *before, uint8_t what);
void hearth_process_put_back(const hearth_process_state *before);

/* Reads the state before a request's first change; with `handlers`, that of ext/pcntl too. */
void hearth_process_note(bool handlers);
/* Puts that state back; returns what could not be put back, or NULL. */
const char *hearth_process_restore(void);

/*
 * engine/process_identity.c: the same for users, groups, session and name spaces; restore returns what could
 * not be put back, or NULL.
 */
void hearth_identity_note(void);
const char *hearth_identity_restore(void);

/* engine/signal_handlers.c: the same for PHP code that handles signals. */
void hearth_signal_handlers_note(void);
void hearth_signal_handlers_restore(void);

#endif
