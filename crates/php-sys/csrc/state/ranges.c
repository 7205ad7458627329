/* Comparing, saving, loading and releasing the ranges of state/ranges.h. */
#include "hearth.h"
#include "state/ranges.h"
#include "task/task.h"

typedef struct {
	char *live;
	char *first;                     /* the content that boot left */
	uint32_t size;
	uint32_t owner;
	uint32_t sentinels;              /* number of sentinels; 0: the whole range is compared */
} range;

typedef struct { const char *live; uint32_t size; } sentinel;

/*
 * The comparison, laid out to touch few cache lines: whole blocks of 32 bytes, whole words of 8 bytes that are 0 at first,
 * which most are, and the rest as masked words.
 */
typedef struct { const char *live, *first; uint32_t blocks; } block_run;
typedef struct { const uint64_t *live; uint64_t first, mask; } masked_word;
#define HEARTH_BLOCK 32

typedef struct {
	range *ranges;
	block_run *runs;
	const uint64_t **zeros;
	masked_word *words;
	/* The sentinels of all ranges, in the order of the ranges. */
	sentinel *sentinels;
	uint32_t range_count, run_count, zero_count, word_count, sentinel_count, capacity, word_capacity;
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
	set->ranges[set->range_count++] = (range){live, NULL, (uint32_t) size, owner, 0};
}

void hearth_ranges_sentinel(hearth_scope scope, const void *live, size_t size)
{
	range_set *set = &sets[scope];

	set->sentinels = perealloc(set->sentinels, (set->sentinel_count + 1) * sizeof *set->sentinels, 1);
	set->sentinels[set->sentinel_count++] = (sentinel){live, (uint32_t) size};
	set->ranges[set->range_count - 1].sentinels++;
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

static void add_words(range_set *set, const char *live, size_t length)
{
	for (size_t done = 0; done < length; done += 8) {
		add_word(set, live + done, MIN(8, length - done));
	}
}

/* Returns the sentinels that follow those of the range. */
static const sentinel *seal_range(range_set *set, range *one, const sentinel *next)
{
	uint32_t blocks = one->sentinels ? 0 : one->size / HEARTH_BLOCK;

	one->first = pemalloc(one->size, 1);
	memcpy(one->first, one->live, one->size);
	if (blocks) {
		set->runs[set->run_count++] = (block_run){one->live, one->first, blocks};
	}
	if (!one->sentinels) {
		add_words(set, one->live + blocks * HEARTH_BLOCK, one->size % HEARTH_BLOCK);
	}
	for (uint32_t i = 0; i < one->sentinels; i++, next++) {
		add_words(set, next->live, next->size);
	}
	return next;
}

static int by_address(const void *left, const void *right)
{
	const uint64_t *a = ((const masked_word *) left)->live, *b = ((const masked_word *) right)->live;

	return (a > b) - (a < b);
}

/* Moves the whole words that are 0 at first to `zeros`. */
static void take_zeros(range_set *set)
{
	uint32_t kept = 0;

	qsort(set->words, set->word_count, sizeof *set->words, by_address);
	set->zeros = safe_pemalloc(set->word_count, sizeof *set->zeros, 1, 1);
	for (uint32_t i = 0; i < set->word_count; i++) {
		if (set->words[i].mask == ~UINT64_C(0) && set->words[i].first == 0) {
			set->zeros[set->zero_count++] = set->words[i].live;
		} else {
			set->words[kept++] = set->words[i];
		}
	}
	set->word_count = kept;
}

void hearth_ranges_seal(void)
{
	for (size_t scope = 0; scope < 2; scope++) {
		range_set *set = &sets[scope];
		const sentinel *next = set->sentinels;

		set->runs = safe_pemalloc(set->range_count, sizeof *set->runs, 1, 1);
		for (uint32_t i = 0; i < set->range_count; i++) {
			next = seal_range(set, &set->ranges[i], next);
		}
		take_zeros(set);
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
	uint64_t difference = 0;

#pragma GCC unroll 4
	for (uint32_t i = 0; i < set->zero_count; i++) {
		difference |= *(const word *) set->zeros[i];
	}
#pragma GCC unroll 4
	for (uint32_t i = 0; i < set->word_count; i++) {
		difference |= (*(const word *) set->words[i].live ^ set->words[i].first) & set->words[i].mask;
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

static bool lies_in(const range *one, const uint64_t *word_at)
{
	const char *at = (const char *) word_at;

	return at + 8 > one->live && at < one->live + one->size;
}

/* Whether the globals of an unknown extension have turned out to belong to no request. From then on they are left alone. */
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
	for (uint32_t i = 0; i < set->zero_count; i++) {
		if (lies_in(one, set->zeros[i])) {
			set->zeros[i] = &nothing;
		}
	}
	for (uint32_t i = 0; i < set->word_count; i++) {
		if (lies_in(one, set->words[i].live)) {
			set->words[i] = (masked_word){&nothing, 0, 0};
		}
	}
	one->size = 0;
	return true;
}

/* ---- saving and loading ---- */

/* Releases caches; returns the number of ranges left to save, and their bytes. */
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
	/* The first content has what RINIT did for it, except where the extension is unknown. */
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
		/* The ranges of one owner are adjacent. */
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
