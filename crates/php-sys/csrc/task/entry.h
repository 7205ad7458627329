/* The task in which the entry script runs. A loop of FrankenPHP stays in it: see mode/frankenphp.c. */
#ifndef HEARTH_ENTRY_H
#define HEARTH_ENTRY_H

#include "task/task.h"

extern hearth_task *hearth_entry_task, *hearth_loop;
extern const char *hearth_entry_path;
void hearth_entry_run(void (*script)(void));
void hearth_entry_left(void);

#endif
