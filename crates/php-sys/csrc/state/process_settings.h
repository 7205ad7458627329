/* What a process has one of, and each request has its own of: see state/process_settings.c. */
#ifndef HEARTH_STATE_PROCESS_SETTINGS_H
#define HEARTH_STATE_PROCESS_SETTINGS_H

#include "compat.h"

/* Ranges of state/engine.toml. NULL, and -1: boot's. */
extern char *hearth_own_directory, *hearth_own_locale;
extern HashTable *hearth_own_environment;
extern int hearth_own_umask;

/* Boot is over: what there is now is every request's. */
void hearth_process_settings_seal(void);

#endif
