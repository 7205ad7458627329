/* The jobs of tasks. */
#ifndef HEARTH_JOB_H
#define HEARTH_JOB_H

typedef enum {
	HEARTH_JOB_NONE = 0,
	HEARTH_JOB_REQUEST,     /* call the app's handler, respond */
	HEARTH_JOB_CALL,        /* async(), a timer: call `callable`, keep its result */
	HEARTH_JOB_COLLECT,     /* run the collector of cycles: see task/collector.c */
	HEARTH_JOB_SCRIPT,      /* `hearth run` */
	HEARTH_JOB_CLASSIC,     /* a request from startup to shutdown */
	HEARTH_JOB_ENTRY,       /* the entry script; a FrankenPHP loop stays in it and serves requests: see mode/frankenphp.c */
} hearth_job;

#endif
