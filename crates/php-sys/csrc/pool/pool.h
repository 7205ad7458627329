/* The native part of connection pools: leases, waiters, entries, histograms, database connections. */
#ifndef HEARTH_POOL_H
#define HEARTH_POOL_H

#include "task/task.h"

void hearth_register_wait_queue(void);
void hearth_register_histogram(void);
void hearth_register_lease_table(void);
extern zend_class_entry *hearth_wait_queue_ce, *hearth_histogram_ce;
hearth_task *hearth_wait_queue_serve(zend_object *waiters, zval *value, zval *offer);
void hearth_histogram_record(zend_object *histogram, double seconds);
/* Called when the library is loaded. */
void hearth_pool_entry_prepare(void);
/* Whether a factory of a pool runs: the arguments that its task passes to extensions are noted. See pool/texts.c. */
bool hearth_texts_are_noted(void);
void hearth_texts_note(zend_execute_data *call);
/* Keeps statements of a pool's connections when they are released. */
void hearth_statements_hook(void);
void hearth_lease_table_return_all(hearth_task *task);
/* The PDO behind an object that has a connection, the mysqlnd connection behind a PDO or mysqli, libpq's behind a PDO or PgSql\Connection; else NULL. */
struct _pdo_dbh_t *hearth_pdo_of(zval *object);
MYSQLND_CONN_DATA *hearth_mysqlnd_of(zval *object);
const void *hearth_libpq_of(zval *object);
/* Makes SQLite forget the id of the row that was inserted last. */
void hearth_forget_last_id(zval *connection);
/* Refuses properties of mysqli's classes after the lease. */
void hearth_properties_hook(void);
/* Whether the object is a PDO with a transaction open. */
bool hearth_in_transaction(zval *object);
/* Whether a PDO, mysqli or PgSql\Connection has an answer that was not read to its end. */
bool hearth_has_unread_result(zval *object);
/* Finds the socket of a connection, -1 if it is closed; false if it has none, or it is not known. */
bool hearth_socket_of(zval *object, php_socket_t *fd);
/* The same for the address that identifies a PDO connection: see task/connection.c. */
bool hearth_socket_of_pgsql(const void *pdo, php_socket_t *fd);
void hearth_throw_pdo(const char *state, const char *message);

#endif
