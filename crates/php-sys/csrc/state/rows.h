/* The table of engine state, as memory of this process: what each piece is, and how requests are kept from sharing it. */
#ifndef HEARTH_STATE_ROWS_H
#define HEARTH_STATE_ROWS_H

#include <stddef.h>

typedef enum {
	HEARTH_STATE_UNTREATED = 0,      /* it has a name, and no more */
	HEARTH_STATE_TASK,               /* exchanged between tasks */
	HEARTH_STATE_REQUEST,            /* exchanged between requests */
	HEARTH_STATE_RESET,              /* what boot left is put back at a switch, and stays: its owner may find it so after a wait */
	HEARTH_STATE_OPEN,               /* in a list of the process for as long as its request lasts, and not after that */
	HEARTH_STATE_RESTORED,           /* put away where it differs from what boot left, which is put back: it never differs */
	HEARTH_STATE_KEPT,               /* the worker's, on purpose */
	HEARTH_STATE_REFUSED,            /* what would change it is refused */
	HEARTH_STATE_PERSISTENT,         /* no request's while requests run at the same time; kept for the next one at a time */
	HEARTH_STATE_SHARED,             /* the process's while requests run at the same time; put back after each one at a time */
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
/* Of variables without a name: see state/statics.c. Only the check needs them. */
const hearth_state_row *hearth_static_rows(size_t *count);

#endif
