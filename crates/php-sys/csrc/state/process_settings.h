/* Process-wide settings of which each request has its own value: see state/process_settings.c. */
#ifndef HEARTH_STATE_PROCESS_SETTINGS_H
#define HEARTH_STATE_PROCESS_SETTINGS_H

#include "compat.h"

/* Ranges of state/engine.toml: whole words, because they are compared word by word. NULL, or -1, means boot's value. */
extern char *hearth_own_directory, *hearth_own_locale;
extern HashTable *hearth_own_environment;
extern int64_t hearth_own_umask;

/* Called at the end of boot: every request begins with the current values. */
void hearth_process_settings_seal(void);

#endif
