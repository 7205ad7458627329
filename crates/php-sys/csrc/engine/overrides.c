/*
 * Work that the engine does for every request and that a classic worker can leave out: a fifth of a small script's time.
 *
 * libphp calls its own exported functions by name, so the functions here, in the executable, replace them; each does what
 * libphp's does wherever the reason beside it does not hold.
 */
#include "engine/engine.h"

#include <dlfcn.h>
#include <signal.h>

/* Returns libphp's own function of that name. */
static void *engine_function(const char *name)
{
	void *function = dlsym(RTLD_NEXT, name);

	if (!function) {
		fprintf(stderr, "libphp has no %s\n", name);
		abort();
	}
	return function;
}

/* ---- the timer ---- */

/*
 * A request's startup sets the time limit for its input, and the handler of SIGPROF with it: two system calls.
 * Without a limit only that handler is set, so once is enough; the engine's record of the handler is restored,
 * because each startup clears it.
 */
void zend_set_timeout(zend_long seconds, bool reset_signals)
{
	static void (*set_timeout)(zend_long, bool);
	static zend_signal_entry_t noted;

	if (set_timeout && reset_signals && seconds == 0) {
		SIGG(handlers)[SIGPROF - 1] = noted;
		EG(timeout_seconds) = 0;
		zend_atomic_bool_store_ex(&EG(timed_out), false);
		return;
	}
	if (!set_timeout) {
		set_timeout = engine_function("zend_set_timeout");
	}
	set_timeout(seconds, reset_signals);
	noted = SIGG(handlers)[SIGPROF - 1];
}

/* ---- mapped pointers ---- */

/*
 * Each function and class has a slot for what a request knows of it, and zend_activate() clears all slots: 35 kB with
 * Debian's extensions, a tenth of what a small script costs. Nine in ten belong to internal functions, where only
 * extensions that observe functions store anything. Without such an extension those slots stay empty, so only the
 * others are cleared.
 */
static uint32_t *cleared;
static size_t cleared_count, known_slots;

static void mark(bool *unused, HashTable *functions)
{
	zend_internal_function *function;

	ZEND_HASH_FOREACH_PTR(functions, function) {
		if (function->type == ZEND_INTERNAL_FUNCTION && ZEND_MAP_PTR_IS_OFFSET(function->run_time_cache)) {
			void **slot = ZEND_MAP_PTR_OFFSET2PTR((uintptr_t) ZEND_MAP_PTR(function->run_time_cache));

			unused[slot - HEARTH_CLEARED_SLOTS] = true;
		}
	} ZEND_HASH_FOREACH_END();
}

static void clear_all_but(const bool *unused)
{
	cleared = safe_pemalloc(known_slots, sizeof *cleared, 0, 1);
	for (size_t i = 0; i < known_slots; i++) {
		if (!unused[i]) {
			cleared[cleared_count++] = (uint32_t) i;
		}
	}
}

/* An extension with code for each request's start might ask for a slot then. */
static bool extensions_activate(void)
{
	zend_llist_position position;
	zend_extension *extension;

	for (extension = zend_llist_get_first_ex(&zend_extensions, &position); extension;
			extension = zend_llist_get_next_ex(&zend_extensions, &position)) {
		if (extension->activate) {
			return true;
		}
	}
	return false;
}

/* Called once, while the engine is up and no request is active. */
void hearth_overrides_begin(void)
{
	zend_class_entry *ce;
	bool *unused;

	if (!HEARTH_CLEARS_FUNCTION_SLOTS || zend_internal_run_time_cache_reserved_size() > 0 || extensions_activate()) {
		return;
	}
	known_slots = CG(map_ptr_last);
	unused = pecalloc(known_slots, sizeof *unused, 1);
	mark(unused, CG(function_table));
	ZEND_HASH_FOREACH_PTR(CG(class_table), ce) {
		mark(unused, &ce->function_table);
	} ZEND_HASH_FOREACH_END();
	clear_all_but(unused);
	pefree(unused, 1);
}

static void clear_slots(size_t last)
{
	void **slots = HEARTH_CLEARED_SLOTS;

	for (size_t i = 0; i < cleared_count; i++) {
		slots[cleared[i]] = NULL;
	}
	memset(slots + known_slots, 0, (last - known_slots) * sizeof *slots);
}

void zend_activate(void)
{
	static void (*activate)(void);
	size_t last = CG(map_ptr_last);

	if (UNEXPECTED(!activate)) {
		activate = engine_function("zend_activate");
	}
	if (!cleared || last < known_slots) {
		activate();
		return;
	}
	clear_slots(last);
	CG(map_ptr_last) = 0;
	activate();
	CG(map_ptr_last) = last;
}
