/* State that libphp and the C library keep in variables that no header declares: see state/hidden.c. */
#ifndef HEARTH_STATE_HIDDEN_H
#define HEARTH_STATE_HIDDEN_H

#include "compat.h"

/* NULL where it was not found. */
zval *hearth_assert_callback(void);
zend_resource **hearth_last_directory(void);
zend_string **hearth_autoload_suffixes(void);
/* The domain of textdomain(), if it is not boot's. */
extern char *hearth_text_domain;
void hearth_text_domain_seal(void);
void hearth_assert_callback_seal(void);

#endif
