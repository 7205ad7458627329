/* Which tasks of this process compute values of Hearth\Cache::remember(), and which wait for them: see cache/computing.c. */
#ifndef HEARTH_COMPUTING_H
#define HEARTH_COMPUTING_H

#include "hearth.h"

/* How many claims this process has made. */
extern uint64_t hearth_computing_claims;

/* The running task has the claim of the key's computation, and has given it back. */
void hearth_computing_begin(hearth_str key, uint64_t token);
void hearth_computing_end(hearth_str key, uint64_t token);
/*
 * Called before the running task waits for `holder`, which has the claim: process << 32 | task. False: it must not wait, because the
 * computation could not go on while it does.
 */
bool hearth_computing_await(hearth_str key, uint64_t holder, double since);
/* The running task waits no more. */
void hearth_computing_awaited(void);

#endif
