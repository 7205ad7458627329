/* The cache that all workers share: its classes and functions in PHP. */
#ifndef HEARTH_CACHE_H
#define HEARTH_CACHE_H

#include "engine/engine.h"

/* The same values as in crates/cache. */
#define HEARTH_CACHE_MAX_KEY 1024
#define HEARTH_CACHE_MAX_TAGS 64

/* The PHP object Hearth\Cache. */
typedef struct {
	zend_string *prefix;             /* prefix of its keys; NULL for the whole cache */
	zend_object std;
} hearth_cache_object;

/* A key in the form of the store: with its prefix. */
typedef struct {
	const char *ptr;
	size_t len;
	char buffer[HEARTH_CACHE_MAX_KEY];
} hearth_cache_key;

/* An encoded value. hearth_cache_encoded_free releases `bytes`. */
typedef struct {
	int encoding;
	int64_t number;
	smart_str bytes;
} hearth_cache_encoded;

/* cache/encode.c; false: an exception is pending. */
bool hearth_cache_encode(zval *value, uint32_t argument, hearth_cache_encoded *out);
hearth_str hearth_cache_bytes(const hearth_cache_encoded *encoded);
void hearth_cache_encoded_free(hearth_cache_encoded *encoded);
/* cache/decode.c */
/*
 * Decodes a value. A `shared` value is memory of the process that nothing may change: for values that outlive a request of
 * the engine. False: the bytes are no value, and `out` is unchanged. `*size` is the memory that the value takes.
 */
bool hearth_cache_decode(hearth_str bytes, bool shared, zval *out, size_t *size);
void hearth_cache_free_shared(zval *value);

/*
 * cache/serialized.c. False where the bytes can no longer be read, with PHP's message as a new string in `why`, and where the app's
 * own code has thrown or was ended: an exception is pending then. In both cases `out` is unchanged.
 */
bool hearth_cache_unserialize(zend_string *bytes, zval *out, zend_string **why);
/* Called at the start of the process, for hearth_cache_unserialize. */
void hearth_unserialize_hook(void);
/* False where igbinary is not installed, or an exception is pending. */
bool hearth_cache_igbinary(zval *value, smart_str *out);

/* cache/copies.c: decoded values of this process. False: there is no valid copy. */
bool hearth_cache_copy_get(const hearth_cache_object *self, zend_string *key, zval *out, uint64_t *stale);
/* False also if the value is due to be computed again. */
bool hearth_cache_copy_get_fresh(const hearth_cache_object *self, zend_string *key, zval *out);
bool hearth_cache_copy_make(hearth_str key, const hearth_cache_found *found, zval *out);
/* Called once all that was read is decoded. May run destructors, which read from the cache too. */
void hearth_cache_copies_were_read(void);
/* Decodes the value without a copy of it. */
bool hearth_cache_value_make(const hearth_cache_found *found, zval *out);
/* Called between two requests of classic mode. */
void hearth_cache_copies_between_requests(void);

/* cache/cache.c */
extern zend_class_entry *hearth_cache_ce;
hearth_cache_object *hearth_cache_object_of(zend_object *object);
/* Makes the key of the store; false: an exception is pending. */
bool hearth_cache_key_of(const hearth_cache_object *self, zend_string *key, uint32_t argument, hearth_cache_key *out);
/* The same, where the argument is an array with the key in it. */
bool hearth_cache_key_in(const hearth_cache_object *self, zend_string *key, uint32_t argument, hearth_cache_key *out);
/* False if there is no value: `out` is unchanged, and an exception may be pending. */
bool hearth_cache_fetch(const hearth_cache_object *self, zend_string *key, zval *out, uint64_t *stale);
/* The same for several keys; UNDEF for those without a value. False: an exception is pending, and `out` is all UNDEF. */
bool hearth_cache_fetch_many(const hearth_cache_object *self, zend_string **names, size_t count, zval *out);
/* The same, but values with objects stay bytes: to see which values there are. */
bool hearth_cache_check_many(const hearth_cache_object *self, zend_string **names, size_t count, zval *out);
/* Reads from the memory of this server without a trace: no copy is kept, no read counted. */
bool hearth_cache_peek_many(const hearth_cache_object *self, zend_string **names, size_t count, zval *out);
/* cache/many.c: keys in the caller's form and in the store's. */
typedef struct {
	size_t count;
	zend_string **names, **full;
	hearth_str *list;
} hearth_cache_keys;
void hearth_cache_keys_begin(hearth_cache_keys *keys, size_t most);
/* Takes ownership of `name`; false: an exception is pending. */
bool hearth_cache_keys_add(hearth_cache_keys *keys, const hearth_cache_object *self, zend_string *name);
void hearth_cache_keys_end(hearth_cache_keys *keys);
/* `deleted`: for each key, whether there was a value. */
void hearth_cache_delete_many(const hearth_cache_keys *keys, bool *deleted);
/* A new string for the log: `namespace: key`. */
zend_string *hearth_cache_key_shown(hearth_str key);
/*
 * Deletes a value that can no longer be read, so that it is made again. The value stays where an exception is pending, because that
 * is not about the value, and where another has been written since it was read. Always false. Takes ownership of `why`, which may be NULL.
 */
bool hearth_cache_forget(hearth_str key, const hearth_cache_validator *own, zend_string *why);
/* Converts to microseconds, 0 for no expiry, -1 for a time that is over; false: an exception is pending. */
bool hearth_cache_time(double seconds, bool none, uint32_t argument, int64_t *out);
/* Names of tags in the form of the store, including those of the namespaces; false: an exception is pending. */
typedef struct {
	hearth_str list[HEARTH_CACHE_MAX_TAGS];
	size_t count;
	smart_str text;
} hearth_cache_tags;
bool hearth_cache_tags_of(const hearth_cache_object *self, HashTable *names, uint32_t argument, hearth_cache_tags *out);
/* Whether the operation was done. Throws for mistakes of the caller. */
bool hearth_cache_done(int outcome, size_t size);
/* Throws an Error that begins with `what`, and returns true, if there was no room or the cache was locked for too long. */
bool hearth_cache_is_refused(int outcome, const char *what);

/* cache/methods.c */
void hearth_register_cache(void);
/* cache/write.c: for how long and with which tags an entry is kept. */
typedef struct {
	int64_t ttl;
	hearth_cache_tags tags;
} hearth_cache_terms;
/* Makes the terms from the arguments from number `argument` on; false: an exception is pending. */
bool hearth_cache_terms_of(const hearth_cache_object *self, double ttl, bool forever, uint32_t argument, HashTable *tags,
	hearth_cache_terms *out);
void hearth_cache_terms_free(hearth_cache_terms *terms);
hearth_cache_write hearth_cache_write_of(const hearth_cache_key *key, const hearth_cache_terms *terms);
/* False: an exception is pending, or the value was not written. */
bool hearth_cache_write_value(const hearth_cache_object *self, zend_string *name, zval *value, const hearth_cache_terms *terms,
	int condition);
/* `outcomes`: how each write ended; with `whole`, none is written if one of them can never succeed. */
void hearth_cache_write_many(const hearth_cache_keys *keys, const hearth_cache_encoded *encoded, const hearth_cache_terms *terms,
	int condition, bool whole, int *outcomes);
/* cache/remember.c: returns the cached value, or computes it by `callable`, called with `argument` unless that is NULL. */
void hearth_cache_remember(const hearth_cache_object *self, zend_string *name, double ttl, bool forever, zval *callable,
	zend_string *argument, zval *out);
/* cache/apcu.c: the functions of APCu, where hearth.apcu is on and APCu is not loaded. */
void hearth_register_apcu(int module_number);
/* Whether they are registered. */
bool hearth_has_apcu(void);
/* cache/lock.c */
void hearth_register_cache_lock(void);
/* Gives back the locks of a task that a fatal error has ended. */
void hearth_cache_locks_end(const hearth_task *broken);
/* Called when the request has ended well: an app may keep a lock for later ones. */
void hearth_cache_locks_forget(const hearth_request_state *request);

#endif
