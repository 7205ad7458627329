/* Hearth\Cache::remember(): each value is computed once at a time, over all tasks and workers. */
#include "cache/cache.h"
#include "cache/computing.h"
#include "task/call.h"
#include "task/no_suspend.h"

#include <unistd.h>

/* Microseconds after which a computation no longer keeps others from computing the same value. */
#define COMPUTATION_TIME (60 * 1000000ull)
/* Microseconds that a caller waits between two checks, at first and at most. */
#define FIRST_WAIT 200
#define LONGEST_WAIT 5000
/* Microseconds for which a value is stale that is so for ever: about a hundred years. */
#define STALE_FOR_EVER (int64_t) 3000000000000000

typedef struct {
	const hearth_cache_object *self;
	zend_string *name;
	hearth_cache_key key;
	int64_t ttl, stale_for;
	int64_t took;                    /* microseconds that the computation took */
	hearth_cache_tags tags;
	hearth_cache_validator validators[HEARTH_CACHE_MAX_TAGS];
	zend_string *argument;           /* argument of the callable, or NULL */
	uint64_t token;                  /* claim of the computation; 0: others may compute too */
	zend_long process;               /* the process that has the claim: not its pcntl_fork() copy */
} computation;

static hearth_str key_of(const computation *of)
{
	return (hearth_str){of->key.ptr, of->key.len};
}

static void give_back(computation *of)
{
	if (of->token && of->process == hearth_process_id()) {
		hearth_computing_end(key_of(of), of->token);
		hearth_on_cache_give_back(HEARTH_CACHE_COMPUTATION, key_of(of), of->token);
		of->token = 0;
	}
}

/*
 * Returns the microseconds for which no other value is computed. A value with a ttl is computed again while it is
 * still valid: one caller begins as long before the end as the computation took, and the others go on with the old
 * value, so none waits at the end.
 */
static uint64_t fresh_for(const computation *of)
{
	int64_t early = of->stale_for ? 0 : MIN(of->took, of->ttl / 2);

	return of->ttl ? (uint64_t) MAX(of->ttl - early, 1) : 0;
}

/* Stores only while the claim is held: a value that was deleted meanwhile was computed from old data. */
static void store(computation *of, zval *value)
{
	hearth_cache_write write = { .key = key_of(of), .condition = HEARTH_CACHE_ALWAYS };
	hearth_cache_encoded encoded;
	int outcome;

	if (of->ttl < 0 || !hearth_cache_encode(value, 3, &encoded)) {
		return;
	}
	write.encoding = encoded.encoding;
	write.number = encoded.number;
	write.bytes = hearth_cache_bytes(&encoded);
	write.ttl = of->ttl ? (uint64_t) (of->ttl + of->stale_for) : 0;
	write.fresh = fresh_for(of);
	write.validators = of->validators;
	write.validator_count = of->tags.count;
	if (of->token) {
		write.condition = HEARTH_CACHE_IF_CLAIMED;
		write.token = of->token;
	}
	outcome = hearth_on_cache_write(&write);
	if (outcome == HEARTH_CACHE_TOO_LARGE) {
		zend_string *shown = hearth_cache_key_shown(key_of(of));

		hearth_log(HEARTH_LOG_WARNING, "a value of Hearth\\Cache::remember() is not kept: it takes %zu bytes, and one entry at most %zu, "
			"half of cache.size key=%s", write.bytes.len, hearth_on_cache_largest(), ZSTR_VAL(shown));
		zend_string_release(shown);
	}
	hearth_cache_encoded_free(&encoded);
}

/* Reads the tags before the computation: deleting a tag during it invalidates the value. */
static bool mark_tags(computation *of)
{
	return of->tags.count == 0
		|| hearth_on_cache_tags(of->tags.list, of->tags.count, of->validators) == HEARTH_CACHE_YES;
}

static zval *property(zval *object, const char *name, size_t length, zval *space)
{
	return zend_read_property(Z_OBJCE_P(object), Z_OBJ_P(object), name, length, true, space);
}

/* The computation of an adapter returns ttl and tags only at its end. False: the value is not kept. */
static bool take_terms(computation *of, zval *result)
{
	zval value, space, *ttl, *tags;
	bool is_kept;

	if (Z_TYPE_P(result) != IS_OBJECT || !zend_string_equals_literal(Z_OBJCE_P(result)->name, "Hearth\\Cache\\Computed")) {
		return true;
	}
	ttl = property(result, ZEND_STRL("ttl"), &space);
	is_kept = zend_is_true(property(result, ZEND_STRL("isKept"), &space))
		&& hearth_cache_time(Z_TYPE_P(ttl) == IS_NULL ? 0 : zval_get_double(ttl), Z_TYPE_P(ttl) == IS_NULL, 2, &of->ttl);
	tags = property(result, ZEND_STRL("tags"), &space);
	if (is_kept && Z_TYPE_P(tags) == IS_ARRAY && zend_hash_num_elements(Z_ARRVAL_P(tags)) > 0) {
		hearth_cache_validator before[HEARTH_CACHE_MAX_TAGS];
		size_t count = of->tags.count;

		/* The namespaces' tags come first: their validators stay those from before the computation. */
		memcpy(before, of->validators, count * sizeof *before);
		smart_str_free(&of->tags.text);
		is_kept = hearth_cache_tags_of(of->self, Z_ARRVAL_P(tags), 3, &of->tags) && mark_tags(of);
		memcpy(of->validators, before, MIN(count, of->tags.count) * sizeof *before);
	}
	ZVAL_COPY(&value, property(result, ZEND_STRL("value"), &space));
	zval_ptr_dtor(result);
	ZVAL_COPY_VALUE(result, &value);
	return is_kept;
}

static void compute(computation *of, zval *callable, zval *result)
{
	bool is_kept = mark_tags(of);
	uint64_t begin = hearth_on_cache_now();
	zval argument;

	hearth_on_cache_count(HEARTH_CACHE_COMPUTED);
	if (of->argument) {
		ZVAL_STR(&argument, of->argument);
	}
	hearth_call(callable, result, of->argument ? 1 : 0, &argument);
	of->took = (int64_t) (hearth_on_cache_now() - begin);
	if (!EG(exception) && take_terms(of, result) && is_kept && !EG(exception)) {
		store(of, result);
	}
}

static void drop(zval *value)
{
	zval_ptr_dtor(value);
	ZVAL_NULL(value);
}

/* Waits. A computation on another machine has no holder here. False: an exception is pending. */
static bool pause_for(const computation *of, uint64_t holder, useconds_t *time)
{
	if (holder == 0) {
		hearth_on_cache_wait(key_of(of));
	} else {
		usleep(*time);
	}
	*time = MIN(*time * 2, LONGEST_WAIT);
	hearth_bail_out_if_fatal();
	return !EG(exception);
}

/*
 * Claims the computation. HEARTH_CACHE_NO: another task computes, `*holder` tells which. HEARTH_CACHE_FULL: the caller
 * holds the claim already, or there is no room for one; it computes.
 */
static int claim(const computation *of, uint64_t *holder)
{
	if (of->token) {
		return HEARTH_CACHE_FULL;
	}
	return hearth_on_cache_claim(HEARTH_CACHE_COMPUTATION, key_of(of), (hearth_str){"", 0}, COMPUTATION_TIME, holder);
}

/* Waits until the value is in `out`; false: the caller must compute it, or an exception is pending. */
static bool is_there_in_turn(computation *of, zval *out)
{
	useconds_t time = FIRST_WAIT;
	uint64_t stale, holder = 0;
	double since = 0;

	for (;;) {
		bool is_there = hearth_cache_fetch(of->self, of->name, out, &stale);
		int outcome;

		if (EG(exception)) {
			return false;
		}
		if (is_there && (stale == 0 || stale > hearth_on_cache_now())) {
			if (time > FIRST_WAIT) {
				hearth_on_cache_count(HEARTH_CACHE_COALESCED);
			}
			return true;
		}
		outcome = claim(of, &holder);
		if (outcome == HEARTH_CACHE_NO && is_there) {
			hearth_on_cache_count(HEARTH_CACHE_COALESCED);
			return true;
		}
		if (outcome == HEARTH_CACHE_YES) {
			of->token = holder;
			of->process = hearth_process_id();
			hearth_computing_begin(key_of(of), holder);
		}
		/* May run a destructor, during which other tasks run. */
		drop(out);
		hearth_bail_out_if_fatal();
		if (EG(exception)) {
			return false;
		}
		if (outcome == HEARTH_CACHE_YES) {
			/* The value may have been computed since the last check. */
			continue;
		}
		since = since == 0 ? hearth_monotonic() : since;
		if (outcome != HEARTH_CACHE_NO || !hearth_computing_await(key_of(of), holder, since) || !pause_for(of, holder, &time)) {
			return false;
		}
	}
}

static bool wait_for_turn(computation *of, zval *out)
{
	bool is_there = is_there_in_turn(of, out);

	hearth_computing_awaited();
	return is_there;
}

/* The caller's arguments. A `computation` takes 3 kB of the stack; a caller with a valid copy does not need it. */
typedef struct {
	const hearth_cache_object *self;
	zend_string *name, *argument;
	double ttl, stale_for;
	bool forever, no_stale;
	HashTable *tags;
} wish;

static zend_never_inline void remember(const wish *wish, zval *callable, zval *out)
{
	computation of = { .self = wish->self, .name = wish->name, .argument = wish->argument };
	volatile bool broken = false;

	if (!hearth_cache_key_of(of.self, of.name, 1, &of.key) || !hearth_cache_time(wish->ttl, wish->forever, 2, &of.ttl)
			|| !hearth_cache_time(wish->stale_for, wish->no_stale, 4, &of.stale_for)
			|| !hearth_cache_tags_of(of.self, wish->tags, 5, &of.tags)) {
		return;
	}
	/* hearth_cache_time() has 0 for ever. */
	of.stale_for = !wish->no_stale && of.stale_for == 0 ? STALE_FOR_EVER : MAX(of.stale_for, 0);
	/* A fatal error may happen in the computation, and when a value is decoded while the claim is already held. */
	zend_try {
		if (!wait_for_turn(&of, out) && !EG(exception)) {
			compute(&of, callable, out);
		}
	} zend_catch {
		broken = true;
	} zend_end_try();
	give_back(&of);
	if (broken) {
		zend_bailout();
	}
	smart_str_free(&of.tags.text);
}

/* A closure is always callable; anything else is looked up. */
static bool is_callable(zval *value, uint32_t argument)
{
	zend_fcall_info call;
	zend_fcall_info_cache cache;
	char *why = NULL;

	if (EXPECTED(Z_TYPE_P(value) == IS_OBJECT && Z_OBJCE_P(value) == zend_ce_closure)) {
		return true;
	}
	if (zend_fcall_info_init(value, 0, &call, &cache, NULL, &why) == SUCCESS) {
		zend_release_fcall_info_cache(&cache);
		return true;
	}
	zend_argument_type_error(argument, "must be a valid callback, %s", why);
	efree(why);
	return false;
}

ZEND_METHOD(Hearth_Cache, remember)
{
	wish wish = { .self = hearth_cache_object_of(Z_OBJ_P(ZEND_THIS)), .no_stale = true };
	zval *compute;

	ZEND_PARSE_PARAMETERS_START(3, 5)
		Z_PARAM_STR(wish.name)
		Z_PARAM_DOUBLE_OR_NULL(wish.ttl, wish.forever)
		Z_PARAM_ZVAL(compute)
		Z_PARAM_OPTIONAL
		Z_PARAM_DOUBLE_OR_NULL(wish.stale_for, wish.no_stale)
		Z_PARAM_ARRAY_HT(wish.tags)
	ZEND_PARSE_PARAMETERS_END();
	if (is_callable(compute, 3) && !hearth_cache_copy_get_fresh(wish.self, wish.name, return_value)) {
		remember(&wish, compute, return_value);
	}
}

void hearth_cache_remember(const hearth_cache_object *self, zend_string *name, double ttl, bool forever, zval *callable,
	zend_string *argument, zval *out)
{
	wish wish = { .self = self, .name = name, .argument = argument, .ttl = ttl, .forever = forever, .no_stale = true };

	if (!hearth_cache_copy_get_fresh(self, name, out)) {
		remember(&wish, callable, out);
	}
}
