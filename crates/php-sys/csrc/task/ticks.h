/* How often the engine forbids a switch, in all and around tick functions: see task/ticks.c. */
#ifndef HEARTH_TICKS_H
#define HEARTH_TICKS_H

#include "compat.h"

typedef struct {
	uint32_t all, ticks;
} hearth_blocks;

hearth_blocks hearth_blocks_in_force(void);
/* May a task be left as far as these say? */
bool hearth_blocks_allow_suspend(void);
/* The task that runs is left: those that came beside `outer` are its own. */
hearth_blocks hearth_blocks_put_away(hearth_blocks outer);
void hearth_blocks_put_back(hearth_blocks own);
/* A fatal error has left all but `outer`. */
void hearth_blocks_reset(hearth_blocks outer);
void hearth_watch_ticks(void);

#endif
