/* What ini_set() changes, of one request. */
#ifndef HEARTH_INI_SETTINGS_H
#define HEARTH_INI_SETTINGS_H

#include "state/task_state.h"

/* The values that boot has set become those to return to. */
void hearth_ini_seal(void);
/* Puts the worker's values back and remembers this request's. */
void hearth_ini_save(hearth_request_state *state);
void hearth_ini_load(hearth_request_state *state);
/*
 * A setting's handler may write where a function has written since: mb_internal_encoding() after ini_set(). What is not saved
 * of the ranges has its first content.
 */
void hearth_ini_undo_in_ranges(void);
void hearth_ini_free(hearth_request_state *state);

#endif
