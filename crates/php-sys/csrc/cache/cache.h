/* The cache that all workers share: PHP's side of it. */
#ifndef HEARTH_CACHE_H
#define HEARTH_CACHE_H

#include "engine/engine.h"

/* As crates/cache has it. */
#define HEARTH_CACHE_MAX_KEY 1024
#define HEARTH_CACHE_MAX_TAGS 64

/* The PHP object Hearth\Cache. */
typedef struct {
	zend_string *prefix;             /* of its keys; NULL in the cache as a whole */
	zend_object std;
} hearth_cache_object;

/* A key as the store has it. */
typedef struct {
	const char *ptr;
	size_t len;
	char buffer[HEARTH_CACHE_MAX_KEY];
} hearth_cache_key;

/* A value as bytes. `bytes` is released by hearth_cache_encoded_free. */
typedef struct {
	int form;
	int64_t number;
	smart_str bytes;
} hearth_cache_encoded;

/* cache/encode.c; false: an exception is under way. */
bool hearth_cache_encode(zval *value, uint32_t argument, hearth_cache_encoded *out);
hearth_str hearth_cache_bytes(const hearth_cache_encoded *encoded);
void hearth_cache_encoded_free(hearth_cache_encoded *encoded);
/* cache/decode.c */
/*
 * What is `shared` is memory of the process that nothing may change: for values that outlive a request of the engine. False: the
 * bytes are no value, and `out` is as it was. `size` is the memory that it takes.
 */
bool hearth_cache_decode(hearth_str bytes, bool shared, zval *out, size_t *size);
void hearth_cache_free_shared(zval *value);

/*
 * cache/serialized.c: false where they are no value any more, or the app's own code has thrown or was ended, which leaves an exception:
 * `out` is as it was. What PHP says of the former is a new string in `why`.
 */
bool hearth_cache_unserialize(zend_string *bytes, zval *out, zend_string **why);
/* At the start of the process, for the first of the two. */
void hearth_watch_unserializing(void);
/* False where there is no igbinary, or an exception is under way. */
bool hearth_cache_igbinary(zval *value, smart_str *out);

/* cache/copies.c: decoded values of this process. */
bool hearth_cache_copy_get(const hearth_cache_object *self, zend_string *key, zval *out, uint64_t *stale);
/* If no other value is to be computed either. */
bool hearth_cache_copy_get_fresh(const hearth_cache_object *self, zend_string *key, zval *out);
bool hearth_cache_copy_make(hearth_str key, const hearth_cache_found *found, zval *out);
/* Between two requests of classic mode. */
void hearth_cache_copies_between_requests(void);

/* cache/cache.c */
extern zend_class_entry *hearth_cache_ce;
hearth_cache_object *hearth_cache_object_of(zend_object *object);
/* The key as the store has it; false: an exception is under way. */
bool hearth_cache_key_of(const hearth_cache_object *self, zend_string *key, uint32_t argument, hearth_cache_key *out);
/* False where there is none: `out` is as it was, and an exception may be under way. */
bool hearth_cache_fetch(const hearth_cache_object *self, zend_string *key, zval *out, uint64_t *stale);
/* As it, of several keys: `out` has what is there, and UNDEF where there is none. False: an exception is under way, and `out` is empty. */
bool hearth_cache_fetch_many(const hearth_cache_object *self, zend_string **names, size_t count, zval *out);
/* As it, with the bytes of what has objects: which of them there are. */
bool hearth_cache_look_many(const hearth_cache_object *self, zend_string **names, size_t count, zval *out);
/* cache/many.c: keys as the caller has them, and as the store does. */
typedef struct {
	size_t count;
	zend_string **names, **full;
	hearth_str *list;
} hearth_cache_keys;
void hearth_cache_keys_begin(hearth_cache_keys *keys, size_t most);
/* Takes `name`; false: an exception is under way. */
bool hearth_cache_keys_add(hearth_cache_keys *keys, const hearth_cache_object *self, zend_string *name);
void hearth_cache_keys_end(hearth_cache_keys *keys);
/* Of each, whether there was one. */
void hearth_cache_delete_many(const hearth_cache_keys *keys, bool *deleted);
/* A new string for the log: `namespace: key`. */
zend_string *hearth_cache_key_shown(hearth_str key);
/*
 * What can no longer be read is gone, so that it is made again. It stays where an exception is under way: that is not about the value.
 * Always false. Takes `why`, which may be NULL.
 */
bool hearth_cache_forget(hearth_str key, zend_string *why);
/* Microseconds, 0 for ever; false: an exception is under way. What is over already is -1. */
bool hearth_cache_time(double seconds, bool none, uint32_t argument, int64_t *out);
/* Names of tags as the store has them, those of the namespaces too; false: an exception is under way. */
typedef struct {
	hearth_str list[HEARTH_CACHE_MAX_TAGS];
	size_t count;
	smart_str text;
} hearth_cache_tags;
bool hearth_cache_tags_of(const hearth_cache_object *self, HashTable *names, uint32_t argument, hearth_cache_tags *out);
/* Was it done? Raises what is a mistake of the caller's. */
bool hearth_cache_done(int outcome, size_t size);

/* cache/methods.c */
void hearth_register_cache(void);
/* cache/write.c: how long and with what an entry is kept. */
typedef struct {
	int64_t ttl;
	hearth_cache_tags tags;
} hearth_cache_terms;
/* As the arguments from that one on say; false: an exception is under way. */
bool hearth_cache_terms_of(const hearth_cache_object *self, double ttl, bool forever, uint32_t argument, HashTable *tags,
	hearth_cache_terms *out);
void hearth_cache_terms_free(hearth_cache_terms *terms);
hearth_cache_write hearth_cache_write_of(const hearth_cache_key *key, const hearth_cache_terms *terms);
/* False: an exception is under way, or it was not done. */
bool hearth_cache_write_value(const hearth_cache_object *self, zend_string *name, zval *value, const hearth_cache_terms *terms,
	int condition);
/* What became of each value; with `whole` none is written if one of them can never be. */
void hearth_cache_write_many(const hearth_cache_keys *keys, const hearth_cache_encoded *encoded, const hearth_cache_terms *terms,
	int condition, bool whole, int *outcomes);
/* cache/remember.c: the value, or what `callable` returns for `argument`, if there is one. */
void hearth_cache_remember(const hearth_cache_object *self, zend_string *name, double ttl, bool forever, zval *callable,
	zend_string *argument, zval *out);
/* cache/apcu.c: the functions of APCu, where hearth.apcu is on and APCu is not there. */
void hearth_register_apcu(int module_number);
/* Are they there? */
bool hearth_has_apcu(void);
/* cache/lock.c */
void hearth_register_cache_lock(void);
/* A fatal error ended that task: what it holds is given back. */
void hearth_cache_locks_end(const hearth_task *broken);

#endif
