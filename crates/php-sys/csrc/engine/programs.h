/* Processes that a request has started and not waited for: see engine/programs.c. */
#ifndef HEARTH_PROGRAMS_H
#define HEARTH_PROGRAMS_H

#include "engine/engine.h"

void hearth_programs_seal(void);
/* A request has ended: nothing asks for what it has started any more. */
void hearth_programs_end(const hearth_request_state *state);
/* Those that have ended are taken note of. */
void hearth_programs_reap(void);

#endif
