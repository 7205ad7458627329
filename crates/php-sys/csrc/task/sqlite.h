/* SQLite connections after a fatal error: see task/sqlite.c. */
#ifndef HEARTH_SQLITE_H
#define HEARTH_SQLITE_H

#include "task/task.h"

/* Rolls back the transactions of the task that a fatal error has ended; `of_request`: and those of its request's ended tasks. */
void hearth_sqlite_roll_back(const hearth_task *broken, bool of_request);
/* Called when the request has ended well: an app may keep a connection in a transaction for later ones. */
void hearth_sqlite_forget(const hearth_request_state *request);

#endif
