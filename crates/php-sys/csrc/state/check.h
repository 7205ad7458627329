/* The check of isolation by memory: what changed between two moments, and which row of the table describes it. */
#ifndef HEARTH_STATE_CHECK_H
#define HEARTH_STATE_CHECK_H

#include "compat.h"
#include "state/map.h"
#include "state/rows.h"

typedef struct hearth_snapshot hearth_snapshot;

/* A difference. Texts live until the callback returns. */
typedef struct {
	const char *object;              /* the library's file, or "engine" where values are compared instead of memory */
	const char *name;                /* the row, the symbol, or the functions that use an unnamed variable */
	const char *kind;                /* "row", "symbol", "static", "content", "table", "setting" or "process" */
	size_t offset;                   /* offset in that variable */
	size_t from;                     /* for content: offset of the pointer in its variable */
	size_t words;                    /* the number of words that differ */
	const char *before, *after;
	const hearth_state_row *row;     /* NULL: no row */
	bool accepted;                   /* the row allows this difference */
} hearth_state_change;

typedef void (*hearth_state_listener)(void *context, const hearth_state_change *change);

hearth_snapshot *hearth_snapshot_take(void);
void hearth_snapshot_free(hearth_snapshot *snapshot);
/* Compares the snapshot with now. */
void hearth_snapshot_compare(const hearth_snapshot *before, hearth_state_listener report, void *context);

/* state/tables.c: tables and settings, compared by their entries and not by memory. */
typedef struct hearth_table_snapshot hearth_table_snapshot;
hearth_table_snapshot *hearth_tables_take(void);
void hearth_tables_free(hearth_table_snapshot *snapshot);
void hearth_tables_compare(const hearth_table_snapshot *before, hearth_state_listener report, void *context);

/* state/process.c: state that the system keeps for the process. */
void hearth_process_take(HashTable *into);
void hearth_process_compare(const HashTable *before, hearth_state_listener report, void *context);

void hearth_register_state_check(void);

#endif
