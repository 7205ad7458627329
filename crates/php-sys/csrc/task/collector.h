/* The collector of cycles: see task/collector.c. */
#ifndef HEARTH_COLLECTOR_H
#define HEARTH_COLLECTOR_H

#include "php.h"

void hearth_collector_watch(void);
/* Runs the collector; the task that runs is one of HEARTH_JOB_COLLECT. */
void hearth_collector_run(void);

#endif
