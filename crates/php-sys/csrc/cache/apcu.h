/* The functions of APCu, on the namespace `apcu` of the cache. */
#ifndef HEARTH_APCU_H
#define HEARTH_APCU_H

#include "cache/cache.h"

#define HEARTH_APCU_PREFIX "apcu\0"
#define HEARTH_APCU_PREFIX_LENGTH (sizeof HEARTH_APCU_PREFIX - 1)

extern hearth_cache_object hearth_apcu;
/* Returns the key in the form that the cache takes; to be released. */
zend_string *hearth_apcu_key(zend_string *key);
/* Whether there is a value. Runs no code of its objects. */
bool hearth_apcu_has(zend_string *name);
/* Whether APCu refuses the value with a warning. */
bool hearth_apcu_refuses(zval *value);
#define HEARTH_APCU_DELETE_MISTAKE "apc_delete() expects a string, array of strings, or APCIterator instance"

/* cache/apcu_many.c */
void hearth_apcu_fetch_many(HashTable *list, zval *return_value);
/* The same for the memory of this server, and no read is counted. */
void hearth_apcu_peek_many(HashTable *list, zval *return_value);
void hearth_apcu_exist_many(HashTable *list, zval *return_value);
void hearth_apcu_delete_many(HashTable *list, zval *return_value);
/* Puts the keys of values that were not stored into `return_value`. */
void hearth_apcu_store_many(HashTable *values, const hearth_cache_terms *terms, int condition, zval *return_value);

#endif
