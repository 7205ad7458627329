/*
 * The globals of extensions as ranges of state/ranges.h. For extensions that the table (state/modules.toml) does not list
 * there is a rule: globals without a pointer to memory of a request when the app is up are exchanged, others are left alone.
 */
#include "engine/engine.h"
#include "hearth.h"
#include "state/extensions.h"
#include "state/ranges.h"
#include "state_table.h"

#include <dlfcn.h>

static const hearth_module_row rows[] = {HEARTH_MODULE_ROWS};

const hearth_module_row *hearth_module_row_of(const char *name)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		if (strcasecmp(rows[i].name, name) == 0) {
			return &rows[i];
		}
	}
	return NULL;
}

/* ---- what may be exchanged ---- */

static bool is_pointer(uint64_t word)
{
	return word >= 0x10000 && word < UINT64_C(0x800000000000) && (word & 7) == 0;
}

static uint64_t word_at(const char *bytes, size_t at)
{
	uint64_t word;

	memcpy(&word, bytes + at, sizeof word);
	return word;
}

/* Whether one of these words points to memory of a request, which that request would free or change while others use it. */
static bool has_request_memory(const char *bytes, size_t size)
{
	for (size_t at = 0; at + 8 <= size; at += 8) {
		uint64_t word = word_at(bytes, at);

		if (is_pointer(word) && is_zend_ptr((const void *) (uintptr_t) word)) {
			return true;
		}
	}
	return false;
}

static bool has_other_pointers(const char *now, const char *before, size_t size)
{
	for (size_t at = 0; at + 8 <= size; at += 8) {
		if (word_at(now, at) != word_at(before, at) && (is_pointer(word_at(now, at)) || is_pointer(word_at(before, at)))) {
			return true;
		}
	}
	return false;
}

/*
 * Numbers and pointers to memory of the request belong to the request. A pointer to other memory belongs to the process: for
 * example a table that has grown, and whose old memory is freed.
 */
bool hearth_module_is_exchangeable(const char *name, const char *live, const char *first, size_t size)
{
	for (size_t at = 0; at + 8 <= size; at += 8) {
		uint64_t now = word_at(live, at), before = word_at(first, at);

		if (now != before && ((is_pointer(now) && !is_zend_ptr((const void *) (uintptr_t) now)) || is_pointer(before))) {
			hearth_log(HEARTH_LOG_WARNING, "extension state is shared by requests: the extension %s keeps memory of the process in its "
				"globals, and Hearth does not know it; run it with --concurrency 1, or report it", name);
			return false;
		}
	}
	return true;
}

/* The globals as they were before the entry script ran. */
static HashTable before_boot;

static void free_copy(zval *copy)
{
	free(Z_PTR_P(copy));
}

void hearth_modules_before_boot(void)
{
	zend_module_entry *module;

	zend_hash_init(&before_boot, 64, NULL, free_copy, 1);
	ZEND_HASH_FOREACH_PTR(&module_registry, module) {
		if (module->globals_ptr && module->globals_size) {
			void *copy = pemalloc(module->globals_size, 1);

			memcpy(copy, module->globals_ptr, module->globals_size);
			zend_hash_str_add_new_ptr(&before_boot, module->name, strlen(module->name), copy);
		}
	} ZEND_HASH_FOREACH_END();
}

/* Whether the entry script left memory in the globals, which the first request would free or all requests would share. */
static bool has_boot_memory(const zend_module_entry *module)
{
	const char *now = module->globals_ptr;
	const char *before = zend_hash_str_find_ptr(&before_boot, module->name, strlen(module->name));

	return has_request_memory(now, module->globals_size)
		|| (before && has_other_pointers(now, before, module->globals_size));
}

/* Numbers that the entry script set hold for every request; memory that it left is given up. */
static bool is_clean(zend_module_entry *module)
{
	if (!has_boot_memory(module)) {
		return true;
	}
	if (module->request_shutdown_func) {
		module->request_shutdown_func(module->type, module->module_number);
	}
	if (module->request_startup_func) {
		module->request_startup_func(module->type, module->module_number);
	}
	return !has_request_memory(module->globals_ptr, module->globals_size);
}

/* ---- the ranges ---- */

static uint32_t owner_of(zend_module_entry *module, bool calls_end, bool unknown)
{
	hearth_state_owner owner = {module->name, NULL, NULL, calls_end ? module : NULL, false, unknown};

	return hearth_ranges_owner(&owner);
}

char *hearth_module_globals(const zend_module_entry *module, const hearth_module_row *row)
{
	const zend_ini_entry *entry;

	if (module->globals_ptr && module->globals_size) {
		return module->globals_ptr;
	}
	if (row->base_ini) {
		entry = zend_hash_str_find_ptr(EG(ini_directives), row->base_ini, strlen(row->base_ini));
		return entry ? entry->mh_arg2 : NULL;
	}
	return row->base_symbol ? dlsym(RTLD_DEFAULT, row->base_symbol) : NULL;
}

static void add_fields(zend_module_entry *module, const hearth_module_row *row)
{
	uint32_t owner = owner_of(module, row->calls_end, false);
	char *base = hearth_module_globals(module, row);

	for (uint32_t i = 0; i < row->field_count; i++) {
		const hearth_module_field *field = &row->fields[i];

		if (base && field->scope != HEARTH_SCOPE_WORKER && field->size) {
			hearth_ranges_add(field->scope, owner, base + field->offset, field->size);
		}
	}
}

static void add_globals(zend_module_entry *module, hearth_scope scope, bool calls_end, bool unknown)
{
	if (!is_clean(module)) {
		hearth_log(HEARTH_LOG_WARNING, "extension state is shared by requests: the extension %s keeps memory of a request "
			"over its end; run it with --concurrency 1, or report it", module->name);
		return;
	}
	hearth_ranges_add(scope, owner_of(module, calls_end, unknown), module->globals_ptr, module->globals_size);
}

/* False for another version of the extension than the table's: its fields may be elsewhere. */
static bool is_as_listed(const zend_module_entry *module, const hearth_module_row *row)
{
	return row->globals != HEARTH_GLOBALS_FIELDS || (HEARTH_PLACES_ARE_KNOWN && row->size == module->globals_size);
}

static void add_module(zend_module_entry *module)
{
	const hearth_module_row *row = hearth_module_row_of(module->name);

	if (hearth_extension_add(module)) {
		return;
	}
	if (row && row->globals == HEARTH_GLOBALS_FIELDS && is_as_listed(module, row)) {
		add_fields(module, row);
		return;
	}
	if (!module->globals_ptr || !module->globals_size) {
		return;
	}
	if (!row || !is_as_listed(module, row)) {
		hearth_log(HEARTH_LOG_NOTICE, "extension state is unknown: the globals of %s %s (%zu bytes) are exchanged between requests "
			"as long as they hold nothing of the process", module->name, module->version ? module->version : "", module->globals_size);
		add_globals(module, HEARTH_SCOPE_REQUEST, true, true);
		return;
	}
	switch (row->globals) {
		case HEARTH_GLOBALS_REQUEST:
			add_globals(module, HEARTH_SCOPE_REQUEST, row->calls_end, false);
			break;
		case HEARTH_GLOBALS_TASK:
			add_globals(module, HEARTH_SCOPE_TASK, row->calls_end, false);
			break;
		case HEARTH_GLOBALS_FIELDS:
		case HEARTH_GLOBALS_KEPT:
			break;
	}
}

void hearth_modules_seal(void)
{
	zend_module_entry *module;

	ZEND_HASH_FOREACH_PTR(&module_registry, module) {
		add_module(module);
	} ZEND_HASH_FOREACH_END();
}
