/*
 * Decoded values of the cache, kept by this process. A copy is used again for as long as its sequence number is the
 * entry's in the store; then a get is one lookup in a table, whatever the size of the value.
 *
 * No request can change what the next one gets: strings and arrays are copied by the engine before they are written to, and
 * values with objects are not kept. In a resident worker and in `hearth run` a copy is memory of the engine, with one owner
 * more than the code that uses it. In classic mode, where the engine's memory ends with the request, a copy is memory of the
 * process, marked immutable, like opcache's arrays; replaced copies are freed between two requests.
 *
 * A copy that is removed is freed later: PHP's collector of cycles may start there and call destructors, which read from the
 * cache too. In the middle of a read they would change this table, and the bytes that are being decoded.
 */
#include "cache/cache.h"
#include "mode/mode.h"

typedef struct hearth_copy {
	zval value;
	uint64_t expires, stale;
	size_t size;
	struct hearth_copy *older, *newer;
	zend_string *key;
	size_t start;                    /* offset of the key's part behind the namespace; a NUL byte is before it */
	bool used;                       /* used since it was last considered for removal */
	size_t count;
	hearth_cache_validator validators[];
} hearth_copy;

static HashTable copies;
static bool begun;
static hearth_copy *oldest, *newest, *garbage;
static size_t kept_size, garbage_size, limit = 16 * 1024 * 1024;

void hearth_cache_copies_limit(size_t bytes)
{
	limit = bytes;
}

static bool is_shared(void)
{
	return hearth_is_classic();
}

static void free_copy(hearth_copy *copy)
{
	is_shared() ? hearth_cache_free_shared(&copy->value) : zval_ptr_dtor(&copy->value);
	pefree(copy, 1);
}

static void unlink_copy(hearth_copy *copy)
{
	*(copy->older ? &copy->older->newer : &oldest) = copy->newer;
	*(copy->newer ? &copy->newer->older : &newest) = copy->older;
}

static void link_newest(hearth_copy *copy)
{
	copy->older = newest;
	copy->newer = NULL;
	*(newest ? &newest->newer : &oldest) = copy;
	newest = copy;
}

static void remove_copy(hearth_copy *copy)
{
	unlink_copy(copy);
	kept_size -= copy->size;
	zend_hash_del(&copies, copy->key);
	copy->newer = garbage;
	garbage = copy;
	garbage_size += copy->size;
}

/* Code that runs meanwhile may remove copies, and free them. */
static void free_removed(void)
{
	while (garbage) {
		hearth_copy *copy = garbage;

		garbage = copy->newer;
		garbage_size -= copy->size;
		free_copy(copy);
	}
}

void hearth_cache_copies_between_requests(void)
{
	free_removed();
}

/* In classic mode the running code may still use a shared value. */
void hearth_cache_copies_were_read(void)
{
	if (UNEXPECTED(garbage) && !is_shared()) {
		free_removed();
	}
}

static void make_room(size_t size)
{
	while (oldest && kept_size + size > limit) {
		hearth_copy *copy = oldest;

		if (copy->used) {
			copy->used = false;
			unlink_copy(copy);
			link_newest(copy);
		} else {
			remove_copy(copy);
		}
	}
}

static hearth_copy *find_full(const hearth_cache_object *self, zend_string *key)
{
	size_t prefix = ZSTR_LEN(self->prefix);
	hearth_cache_key full;

	if (prefix + ZSTR_LEN(key) > sizeof full.buffer) {
		return NULL;
	}
	memcpy(full.buffer, ZSTR_VAL(self->prefix), prefix);
	memcpy(full.buffer + prefix, ZSTR_VAL(key), ZSTR_LEN(key));
	return zend_hash_str_find_ptr(&copies, full.buffer, prefix + ZSTR_LEN(key));
}

/* A key that contains a namespace's separator is not found here, and refused by the read that follows. */
static hearth_copy *find(const hearth_cache_object *self, zend_string *key)
{
	hearth_copy *copy;
	size_t start = 0;

	if (!begun) {
		return NULL;
	}
	if (EXPECTED(!self->prefix)) {
		copy = zend_hash_find_ptr(&copies, key);
	} else {
		copy = find_full(self, key);
		start = ZSTR_LEN(self->prefix);
	}
	return copy && copy->start == start ? copy : NULL;
}

static bool give(hearth_copy *copy, uint64_t until, zval *out)
{
	if (!hearth_on_cache_is_current(copy->validators, copy->count, until)) {
		return false;
	}
	copy->used = true;
	ZVAL_COPY(out, &copy->value);
	return true;
}

bool hearth_cache_copy_get(const hearth_cache_object *self, zend_string *key, zval *out, uint64_t *stale)
{
	hearth_copy *copy = find(self, key);

	if (!copy || !give(copy, copy->expires, out)) {
		return false;
	}
	*stale = copy->stale;
	return true;
}

bool hearth_cache_copy_get_fresh(const hearth_cache_object *self, zend_string *key, zval *out)
{
	hearth_copy *copy = find(self, key);

	return copy && give(copy, copy->stale ? copy->stale : copy->expires, out);
}

static size_t start_of(hearth_str key)
{
	const char *nul = zend_memrchr(key.ptr, '\0', key.len);

	return nul ? (size_t) (nul + 1 - key.ptr) : 0;
}

static void keep(hearth_str key, const hearth_cache_found *found, zval *value, size_t size)
{
	hearth_copy *copy = pecalloc(1, sizeof *copy + found->validator_count * sizeof *copy->validators, 1), *before;

	ZVAL_COPY(&copy->value, value);
	copy->expires = found->expires;
	copy->stale = found->stale;
	copy->count = found->validator_count;
	memcpy(copy->validators, found->validators, found->validator_count * sizeof *copy->validators);
	copy->size = size;
	if (!begun) {
		begun = true;
		zend_hash_init(&copies, 64, NULL, NULL, 1);
	}
	before = zend_hash_str_find_ptr(&copies, key.ptr, key.len);
	if (before) {
		remove_copy(before);
	}
	make_room(size);
	copy->key = zend_string_init(key.ptr, key.len, 1);
	copy->start = start_of(key);
	zend_hash_add_new_ptr(&copies, copy->key, copy);
	zend_string_release(copy->key);
	kept_size += size;
	link_newest(copy);
}

/* Queues memory of the process that belongs to no copy: the running code uses it up to the end of the request. */
static void throw_away_later(zval *value, size_t size)
{
	hearth_copy *copy = pecalloc(1, sizeof *copy, 1);

	ZVAL_COPY_VALUE(&copy->value, value);
	copy->newer = garbage;
	garbage = copy;
	garbage_size += copy->size = size;
}

static bool make(const hearth_cache_found *found, bool shared, zval *out, size_t *size)
{
	if (found->encoding == HEARTH_CACHE_INT) {
		ZVAL_LONG(out, (zend_long) found->number);
		return true;
	}
	return hearth_cache_decode(found->bytes, shared, out, size);
}

bool hearth_cache_value_make(const hearth_cache_found *found, zval *out)
{
	size_t size = 0;

	return make(found, false, out, &size);
}

/*
 * Decodes the value that was read; false where the bytes are no value. Values up to a quarter of the limit are kept:
 * a large value must not push out all others. The size is only known once the value is decoded; it may be sixteen
 * times that of the bytes.
 */
bool hearth_cache_copy_make(hearth_str key, const hearth_cache_found *found, zval *out)
{
	bool is_kept = found->bytes.len <= limit / 4 && (!is_shared() || garbage_size < limit);
	bool is_process_memory = is_kept && is_shared();
	size_t size = 0;

	if (!make(found, is_process_memory, out, &size)) {
		return false;
	}
	size += sizeof(hearth_copy) + 128 + key.len;
	if (is_kept && size <= limit / 4) {
		keep(key, found, out, size);
	} else if (is_process_memory) {
		throw_away_later(out, size);
	}
	return true;
}
