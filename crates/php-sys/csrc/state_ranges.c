/* Comparing, saving, loading and releasing the ranges of state_ranges.h. */
#include "state_ranges.h"
#include "hearth.h"
#include "task.h"

typedef struct {
	char *live;
	char *first;                     /* what boot left */
	uint32_t size;
	uint32_t owner;
} range;

/* What is compared, laid out for speed: whole blocks of 32 bytes, whole words of 8, and what is left as masked words. */
typedef struct { const char *live, *first; uint32_t blocks; } block_run;
typedef struct { const uint64_t *live; uint64_t first, mask; } masked_word;
#define HEARTH_BLOCK 32

typedef struct {
	range *ranges;
	block_run *runs;
	masked_word *words;
	/* The first `whole_count` words have no mask. */
	uint32_t range_count, run_count, word_count, whole_count, capacity, word_capacity;
} range_set;

struct hearth_saved_ranges {
	uint32_t count;
	struct { uint32_t range, offset; } entries[];
	/* the bytes of all entries follow */
};

typedef uint64_t block __attribute__((vector_size(16), aligned(1), may_alias));
typedef uint64_t word __attribute__((aligned(8), may_alias));

static const uint64_t nothing;
static range_set sets[2];
static hearth_state_owner *owners;
static uint32_t owner_count, owner_capacity;

uint32_t hearth_ranges_owner(const hearth_state_owner *owner)
{
	if (owner_count == owner_capacity) {
		owner_capacity = owner_capacity ? owner_capacity * 2 : 64;
		owners = perealloc(owners, owner_capacity * sizeof *owners, 1);
	}
	owners[owner_count] = *owner;
	return owner_count++;
}

void hearth_ranges_add(hearth_scope scope, uint32_t owner, void *live, size_t size)
{
	range_set *set = &sets[scope];

	if (!live || !size) {
		return;
	}
	if (set->range_count == set->capacity) {
		set->capacity = set->capacity ? set->capacity * 2 : 64;
		set->ranges = perealloc(set->ranges, set->capacity * sizeof *set->ranges, 1);
	}
	set->ranges[set->range_count++] = (range){live, NULL, (uint32_t) size, owner};
}

/* ---- the seal ---- */

static void add_word(range_set *set, const char *live, size_t length)
{
	uintptr_t address = (uintptr_t) live;
	size_t skip = address & 7, taken = MIN(length, 8 - skip);
	uint64_t mask = (taken == 8 ? ~UINT64_C(0) : ((UINT64_C(1) << (taken * 8)) - 1) << (skip * 8));
	const word *aligned = (const word *) (address - skip);

	if (set->word_count == set->word_capacity) {
		set->word_capacity = set->word_capacity ? set->word_capacity * 2 : 64;
		set->words = perealloc(set->words, set->word_capacity * sizeof *set->words, 1);
	}
	set->words[set->word_count++] = (masked_word){(const uint64_t *) aligned, *aligned & mask, mask};
	if (taken < length) {
		add_word(set, live + taken, length - taken);
	}
}

static void seal_range(range_set *set, range *one)
{
	uint32_t blocks = one->size / HEARTH_BLOCK;

	one->first = pemalloc(one->size, 1);
	memcpy(one->first, one->live, one->size);
	if (blocks) {
		set->runs[set->run_count++] = (block_run){one->live, one->first, blocks};
	}
	for (uint32_t done = blocks * HEARTH_BLOCK; done < one->size; done += 8) {
		add_word(set, one->live + done, MIN(8, one->size - done));
	}
}

/* Whole words first. */
static void sort_words(range_set *set)
{
	for (uint32_t i = 0; i < set->word_count; i++) {
		if (set->words[i].mask == ~UINT64_C(0)) {
			masked_word whole = set->words[i];

			set->words[i] = set->words[set->whole_count];
			set->words[set->whole_count++] = whole;
		}
	}
}

void hearth_ranges_seal(void)
{
	for (size_t scope = 0; scope < 2; scope++) {
		range_set *set = &sets[scope];

		set->runs = safe_pemalloc(set->range_count, sizeof *set->runs, 1, 1);
		for (uint32_t i = 0; i < set->range_count; i++) {
			seal_range(set, &set->ranges[i]);
		}
		sort_words(set);
	}
}

/* ---- comparing ---- */

static uint64_t compare_blocks(const range_set *set)
{
	block difference = {0, 0};

	for (uint32_t i = 0; i < set->run_count; i++) {
		const block *live = (const block *) set->runs[i].live, *first = (const block *) set->runs[i].first;

		for (uint32_t n = set->runs[i].blocks; n; n--, live += 2, first += 2) {
			difference |= (live[0] ^ first[0]) | (live[1] ^ first[1]);
		}
	}
	return difference[0] | difference[1];
}

static uint64_t compare_words(const range_set *set)
{
	const masked_word *word_at = set->words, *whole = word_at + set->whole_count, *end = word_at + set->word_count;
	uint64_t difference = 0;

#pragma GCC unroll 4
	for (; word_at < whole; word_at++) {
		difference |= *(const word *) word_at->live ^ word_at->first;
	}
	for (; word_at < end; word_at++) {
		difference |= (*(const word *) word_at->live ^ word_at->first) & word_at->mask;
	}
	return difference;
}

bool hearth_ranges_changed(hearth_scope scope)
{
	return (compare_blocks(&sets[scope]) | compare_words(&sets[scope])) != 0;
}

static bool differs(const range *one)
{
	return memcmp(one->live, one->first, one->size) != 0;
}

static void put(const range *one, const char *bytes)
{
	memcpy(one->live, bytes, one->size);
	if (UNEXPECTED(owners[one->owner].apply)) {
		owners[one->owner].apply();
	}
}

static void restore(const range *one)
{
	if (differs(one)) {
		put(one, one->first);
	}
}

/* The globals of an unknown extension may turn out to be no request's. From then on they are left alone. */
static bool is_left_alone(range_set *set, range *one)
{
	hearth_state_owner *owner = &owners[one->owner];

	if (!owner->unknown || hearth_module_is_exchangeable(owner->name, one->live, one->first, one->size)) {
		return false;
	}
	for (uint32_t i = 0; i < set->run_count; i++) {
		if (set->runs[i].live == one->live) {
			set->runs[i].blocks = 0;
		}
	}
	for (uint32_t i = 0; i < set->word_count; i++) {
		const char *at = (const char *) set->words[i].live;

		if (at + 8 > one->live && at < one->live + one->size) {
			set->words[i] = (masked_word){&nothing, 0, 0};
		}
	}
	one->size = 0;
	return true;
}

/* ---- saving and loading ---- */

/* Caches are released; returns how many ranges are left to save, and their size. */
static uint32_t drop_caches(range_set *set, size_t *bytes)
{
	uint32_t count = 0;

	*bytes = 0;
	for (uint32_t i = 0; i < set->range_count; i++) {
		range *one = &set->ranges[i];

		if (!differs(one) || is_left_alone(set, one)) {
			continue;
		}
		if (owners[one->owner].dropped) {
			owners[one->owner].release();
			restore(one);
		} else {
			count++;
			*bytes += one->size;
		}
	}
	return count;
}

static char *bytes_of(hearth_saved_ranges *saved)
{
	return (char *) &saved->entries[saved->count];
}

hearth_saved_ranges *hearth_ranges_save(hearth_scope scope)
{
	range_set *set = &sets[scope];
	hearth_saved_ranges *saved;
	size_t bytes;
	uint32_t count = drop_caches(set, &bytes), entry = 0, offset = 0;

	if (!count) {
		return NULL;
	}
	saved = pemalloc(sizeof *saved + count * sizeof *saved->entries + bytes, 1);
	saved->count = count;
	for (uint32_t i = 0; i < set->range_count && entry < count; i++) {
		range *one = &set->ranges[i];

		if (differs(one)) {
			saved->entries[entry].range = i;
			saved->entries[entry++].offset = offset;
			memcpy(bytes_of(saved) + offset, one->live, one->size);
			offset += one->size;
			restore(one);
		}
	}
	return saved;
}

void hearth_ranges_load(hearth_scope scope, hearth_saved_ranges *saved)
{
	const range_set *set = &sets[scope];

	for (uint32_t i = 0; i < saved->count; i++) {
		const range *one = &set->ranges[saved->entries[i].range];

		put(one, bytes_of(saved) + saved->entries[i].offset);
	}
	hearth_ranges_free(saved);
}

void hearth_ranges_free(hearth_saved_ranges *saved)
{
	pefree(saved, 1);
}

/* ---- releasing ---- */

static void release(const hearth_state_owner *owner)
{
	zend_module_entry *module = owner->module;

	if (owner->release) {
		owner->release();
	}
	if (owner->apply) {
		owner->apply();
	}
	if (module && module->request_shutdown_func) {
		module->request_shutdown_func(module->type, module->module_number);
	}
	/* What its beginning of a request does is in the first content, as far as is known. */
	if (module && owner->unknown && module->request_startup_func) {
		module->request_startup_func(module->type, module->module_number);
	}
}

void hearth_ranges_release(hearth_scope scope)
{
	range_set *set = &sets[scope];
	uint32_t done = UINT32_MAX;

	for (uint32_t i = 0; i < set->range_count; i++) {
		range *one = &set->ranges[i];
		const hearth_state_owner *owner = &owners[one->owner];

		if (!differs(one) || is_left_alone(set, one)) {
			continue;
		}
		/* The ranges of one owner stand together. */
		if (one->owner != done) {
			done = one->owner;
			release(owner);
		}
	}
	hearth_ranges_forget(scope);
}

void hearth_ranges_forget(hearth_scope scope)
{
	const range_set *set = &sets[scope];

	for (uint32_t i = 0; i < set->range_count; i++) {
		restore(&set->ranges[i]);
	}
}

bool hearth_ranges_view(uint32_t index, hearth_range_view *view)
{
	for (size_t scope = 0; scope < 2; scope++) {
		if (index < sets[scope].range_count) {
			const range *one = &sets[scope].ranges[index];

			*view = (hearth_range_view){owners[one->owner].name, (hearth_scope) scope, owners[one->owner].dropped, one->live, one->size};
			return true;
		}
		index -= sets[scope].range_count;
	}
	return false;
}
