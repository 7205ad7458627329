/*
 * The check's native functions, which exist only with the setting hearth.state_check at boot: 1 for an app that calls them, 2 for
 * `hearth check --leaks`.
 *
 * A snapshot is taken and compared in requests that do nothing else: each begins with a state of its own, so a
 * difference between two of them is state that a request in between has left, or that a waiting request has not put away.
 */
#include "compat.h"
#include "state/check.h"
#include "state/check_functions_arginfo.h"

#include <malloc.h>

static HashTable snapshots;
static bool ready;

static void drop_snapshot(zval *value)
{
	hearth_snapshot_free(Z_PTR_P(value));
}

static void prepare(void)
{
	size_t count;

	if (!ready) {
		hearth_static_rows(&count);
		zend_hash_init(&snapshots, 4, NULL, drop_snapshot, 1);
		ready = true;
	}
}

/* Hearth\Internal\stateTake(string $name): void */
ZEND_FUNCTION(Hearth_Internal_stateTake)
{
	char *name;
	size_t length;

	ZEND_PARSE_PARAMETERS_START(1, 1)
		Z_PARAM_STRING(name, length)
	ZEND_PARSE_PARAMETERS_END();
	prepare();
	zend_hash_str_del(&snapshots, name, length);
	zend_hash_str_add_ptr(&snapshots, name, length, hearth_snapshot_take());
}

static const char *word_of(int treatment)
{
	static const char *const words[] = {"untreated", "task", "request", "reset", "open", "restored", "kept", "refused", "persistent", "shared"};

	return words[treatment];
}

static void collect(void *context, const hearth_state_change *change)
{
	zval one, *list = context;

	array_init(&one);
	add_assoc_string(&one, "object", change->object);
	add_assoc_string(&one, "kind", change->kind);
	add_assoc_string(&one, "name", change->name);
	add_assoc_long(&one, "offset", (zend_long) change->offset);
	add_assoc_long(&one, "from", (zend_long) change->from);
	add_assoc_long(&one, "words", (zend_long) change->words);
	add_assoc_string(&one, "before", change->before);
	add_assoc_string(&one, "after", change->after);
	add_assoc_string(&one, "module", change->row ? change->row->module : "");
	add_assoc_string(&one, "treatment", change->row ? word_of(change->row->treatment) : "");
	add_assoc_bool(&one, "accepted", change->accepted);
	add_next_index_zval(list, &one);
}

/* Hearth\Internal\stateChanges(string $name): array, since the snapshot of that name. */
ZEND_FUNCTION(Hearth_Internal_stateChanges)
{
	hearth_snapshot *snapshot;
	char *name;
	size_t length;

	ZEND_PARSE_PARAMETERS_START(1, 1)
		Z_PARAM_STRING(name, length)
	ZEND_PARSE_PARAMETERS_END();
	prepare();
	array_init(return_value);
	if ((snapshot = zend_hash_str_find_ptr(&snapshots, name, length))) {
		hearth_snapshot_compare(snapshot, collect, return_value);
	}
}

/* Hearth\Internal\stateMemory(): array{php: int, native: int}, the bytes in use of the engine's heap, and of malloc()'s. */
ZEND_FUNCTION(Hearth_Internal_stateMemory)
{
	struct mallinfo2 native = mallinfo2();

	ZEND_PARSE_PARAMETERS_NONE();
	array_init(return_value);
	add_assoc_long(return_value, "php", (zend_long) zend_memory_usage(false));
	add_assoc_long(return_value, "native", (zend_long) (native.uordblks + native.hblkhd));
}

/* Called at the start of the module, in a worker that is to be checked. */
void hearth_register_state_check(void)
{
	zend_long enabled;

	if (cfg_get_long("hearth.state_check", &enabled) == SUCCESS && enabled) {
		hearth_note_functions();
		zend_register_functions(NULL, ext_functions, NULL, MODULE_PERSISTENT);
	}
}
