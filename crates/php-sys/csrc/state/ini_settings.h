/* The settings that a request changes by ini_set(). */
#ifndef HEARTH_INI_SETTINGS_H
#define HEARTH_INI_SETTINGS_H

#include "state/task_state.h"

/* Makes the values that boot has set the original values. */
void hearth_ini_seal(void);
/* Puts the worker's values back and remembers this request's. */
void hearth_ini_save(hearth_request_state *state);
void hearth_ini_load(hearth_request_state *state);
/*
 * A setting's handler may write where a function has written since: mb_internal_encoding() after ini_set(). So ranges that
 * are not saved get their first content back.
 */
void hearth_ini_undo_in_ranges(void);
void hearth_ini_free(hearth_request_state *state);

#endif
