/* The functions of APCu, on the namespace `apcu` of the cache. */
#ifndef HEARTH_APCU_H
#define HEARTH_APCU_H

#include "cache/cache.h"

#define HEARTH_APCU_PREFIX "apcu\0"
#define HEARTH_APCU_PREFIX_LENGTH (sizeof HEARTH_APCU_PREFIX - 1)

extern hearth_cache_object hearth_apcu;
/* As the cache takes it; to be released. */
zend_string *hearth_apcu_key(zend_string *key);
/* Where one key or several may be given: what is done with each, with a warning where it is no string. The result is that of the function. */
void hearth_apcu_each_key(zval *keys, zval *return_value, const char *mistake, void (*done)(zval *key, zval *return_value));

#endif
