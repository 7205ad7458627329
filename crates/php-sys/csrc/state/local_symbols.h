/* State that no header of the engine declares: that of libphp and the C library (state/local_symbols.c), and our own. */
#ifndef HEARTH_STATE_HIDDEN_H
#define HEARTH_STATE_HIDDEN_H

#include "compat.h"

/* Returns the first place in the writable memory of libphp that has this value, or NULL. */
void **hearth_find_in_libphp(const void *value);
/* These return NULL where the state was not found. */
zval *hearth_assert_callback(void);
zend_resource **hearth_last_directory(void);
zend_string **hearth_autoload_suffixes(void);
/* The domain of textdomain(), if it differs from boot's; else NULL. */
extern char *hearth_text_domain;
void hearth_text_domain_seal(void);
void hearth_assert_callback_seal(void);
/* Returns a copy that is never freed. */
zend_string *hearth_permanent_string(const zend_string *text);

/* state/openssl_errors.c: a task is left, goes on by its range, or ends. */
extern unsigned long *hearth_own_openssl_errors;
void hearth_openssl_errors_seal(void);
void hearth_openssl_errors_keep(void);
void hearth_openssl_errors_drop(void);

/*
 * A value of the cache that is being unserialized: the frame that reads it, whether an object in it has lost its class, and the last
 * exception that PHP itself has thrown.
 */
typedef struct {
	const zend_execute_data *reader;
	const zend_object *refusal;
	bool is_under_way, is_incomplete;
} hearth_reading;
/* cache/serialized.c */
extern hearth_reading hearth_reading_now;

#endif
