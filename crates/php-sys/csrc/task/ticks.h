/* Counts of how often the engine forbids a switch, in all and around tick functions: see task/ticks.c. */
#ifndef HEARTH_TICKS_H
#define HEARTH_TICKS_H

#include "compat.h"

typedef struct {
	uint32_t all, ticks;
} hearth_blocks;

hearth_blocks hearth_blocks_in_force(void);
/* Whether the blocks allow a task to be left. */
bool hearth_blocks_allow_suspend(void);
/* Called when the running task is left: puts away the blocks beyond `outer`, which are its own. */
hearth_blocks hearth_blocks_put_away(hearth_blocks outer);
void hearth_blocks_put_back(hearth_blocks own);
/* Called when a fatal error has left all blocks but `outer`. */
void hearth_blocks_reset(hearth_blocks outer);
void hearth_ticks_hook(void);

#endif
