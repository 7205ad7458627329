/* The table of engine state, as memory of this process: each piece, and how requests are kept from sharing it. */
#ifndef HEARTH_STATE_ROWS_H
#define HEARTH_STATE_ROWS_H

#include <stddef.h>

typedef enum {
	HEARTH_STATE_UNTREATED = 0,      /* only its name is known */
	HEARTH_STATE_TASK,               /* exchanged between tasks */
	HEARTH_STATE_REQUEST,            /* exchanged between requests */
	HEARTH_STATE_RESET,              /* boot's content is put back at a switch, and stays, also after a wait */
	HEARTH_STATE_OPEN,               /* in a list of the process until its request ends, and not after that */
	HEARTH_STATE_RESTORED,           /* put away where it differs from boot's content, which is put back: it never differs */
	HEARTH_STATE_KEPT,               /* shared by the worker's requests, on purpose */
	HEARTH_STATE_REFUSED,            /* calls that would change it are refused */
	HEARTH_STATE_PERSISTENT,         /* belongs to no request while several run; one at a time: kept for the next */
	HEARTH_STATE_SHARED,             /* shared while requests run at the same time; one at a time: put back after each */
} hearth_row_treatment;

typedef struct {
	const char *name;
	const char *module;
	const void *address;
	size_t size;
	int treatment;
	const char *why;
} hearth_state_row;

const hearth_state_row *hearth_state_rows(size_t *count);
/* Rows of unnamed variables: see state/statics.c. Only the check needs them. */
const hearth_state_row *hearth_static_rows(size_t *count);

#endif
