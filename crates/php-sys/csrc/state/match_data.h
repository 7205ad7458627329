/* The match data of preg_replace_callback() while its callback waits: see state/match_data.c. */
#ifndef HEARTH_STATE_MATCH_DATA_H
#define HEARTH_STATE_MATCH_DATA_H

#include "compat.h"

void hearth_match_data_seal(void);
/* Whether the running task uses the block. */
extern bool *hearth_match_data_used;
/* Called when a task or Fiber that uses the block is left: returns what hearth_match_data_put_back() needs when it goes on. */
void *hearth_match_data_take(void);
void hearth_match_data_put_back(void *taken);

#endif
