/* The table as memory of this process: what is exchanged, and, for the check, what is the worker's. */
#include "task.h"
#include "state_ranges.h"
#include "state_rows.h"
#include "state_table.h"

#include <ext/standard/file.h>

static hearth_state_row *rows;
static size_t row_count;

static void add(hearth_state_row row)
{
	rows = perealloc(rows, (row_count + 1) * sizeof *rows, 1);
	rows[row_count++] = row;
}

#define HEARTH_TASK_ROW(live, type, field) add((hearth_state_row){#live, "engine", &live, sizeof(live), HEARTH_STATE_TASK, ""});
#define HEARTH_REQUEST_ROW(live, type, field) add((hearth_state_row){#live, "engine", &live, sizeof(live), HEARTH_STATE_REQUEST, ""});

/* What the engine itself saves when it changes stacks, what only grows, and what is compared by meaning elsewhere. */
#define HEARTH_KEPT_FIELDS(X) \
	X(EG(symtable_cache), "a cache") \
	X(EG(symtable_cache_ptr), "a cache") \
	X(EG(included_files), "the app's files are loaded once") \
	X(EG(bailout), "saved with the stack") \
	X(EG(vm_stack), "saved with the stack") \
	X(EG(vm_stack_top), "saved with the stack") \
	X(EG(vm_stack_end), "saved with the stack") \
	X(EG(current_execute_data), "saved with the stack") \
	X(EG(current_fiber_context), "saved with the stack") \
	X(EG(regular_list), "numbers of resources go on; which there are is compared by meaning") \
	X(EG(persistent_list), "compared by meaning") \
	X(EG(symbol_table), "compared by meaning") \
	X(BG(putenv_ht), "compared by meaning") \
	X(EG(objects_store), "numbers of objects go on") \
	X(EG(error_reporting_ini_entry), "where the setting is; looked up once") \
	X(EG(trampoline), "says itself whether it is in use") \
	X(EG(ht_iterators_slots), "each has its place in it") \
	X(EG(ht_iterators_used), "how many places there are") \
	X(EG(weakrefs), "those of all objects") \
	X(CG(map_ptr_last), "functions and classes get their numbers once") \
	X(CG(rtd_key_counter), "declarations get their numbers once") \
	X(CG(delayed_oplines_stack), "the compiler's; it is never left") \
	X(CG(loop_var_stack), "the compiler's; it is never left") \
	X(CG(increment_lineno), "the compiler's; it is never left") \
	X(CG(parse_error), "the compiler's; it is never left") \
	X(CG(ini_parser_param), "the parser's; it is never left") \
	X(language_scanner_globals, "the compiler's; it is never left") \
	X(ini_scanner_globals, "the parser's; it is never left") \
	X(FG(pclose_ret), "from one call to the next line of the engine") \
	X(PG(php_sys_temp_dir), "found once")

#define HEARTH_KEPT_ROW(live, why) add((hearth_state_row){#live, "engine", &live, sizeof(live), HEARTH_STATE_KEPT, why});

static void add_engine(void)
{
	const virtual_cwd_globals *cwd = (const void *) ((char *) realpath_cache_get_buckets() - offsetof(virtual_cwd_globals, realpath_cache));

	HEARTH_KEPT_FIELDS(HEARTH_KEPT_ROW)
	add((hearth_state_row){"CWDG(realpath_cache)", "engine", &cwd->realpath_cache_size,
		sizeof *cwd - offsetof(virtual_cwd_globals, realpath_cache_size), HEARTH_STATE_KEPT, "a cache with a time limit"});
}

/* Where settings leave their values: which value is compared by meaning; equal ones may lie at several places. */
static void add_settings(void)
{
	zend_ini_entry *entry;

	ZEND_HASH_FOREACH_PTR(EG(ini_directives), entry) {
		const char *place = (const char *) entry->mh_arg2 + (size_t) entry->mh_arg1;

		if (entry->mh_arg2 && (entry->on_modify == OnUpdateString || entry->on_modify == OnUpdateStringUnempty)) {
			add((hearth_state_row){ZSTR_VAL(entry->name), "settings", place, sizeof(char *), HEARTH_STATE_KEPT, "a setting"});
		}
	} ZEND_HASH_FOREACH_END();
	add((hearth_state_row){"include_path", "settings", &PG(include_path), sizeof(char *), HEARTH_STATE_KEPT, "a setting"});
	add((hearth_state_row){"arg_separator", "settings", &PG(arg_separator), sizeof PG(arg_separator), HEARTH_STATE_KEPT, "settings"});
	add((hearth_state_row){"default_charset", "settings", &SG(default_charset), sizeof(char *), HEARTH_STATE_KEPT, "a setting"});
}

static void add_ranges(void)
{
	hearth_range_view view;

	for (uint32_t i = 0; hearth_ranges_view(i, &view); i++) {
		add((hearth_state_row){view.owner, view.owner, view.live, view.size, HEARTH_STATE_RESTORED, ""});
	}
}

/* The fields that the table calls the worker's, and what it says nothing of. */
static void add_module(const zend_module_entry *module)
{
	const hearth_module_row *row = hearth_module_row_of(module->name);
	bool kept = row && row->globals == HEARTH_GLOBALS_KEPT;

	add((hearth_state_row){module->name, module->name, module->globals_ptr, module->globals_size,
		kept ? HEARTH_STATE_KEPT : HEARTH_STATE_UNTREATED, ""});
	for (uint32_t i = 0; row && row->size == module->globals_size && i < row->field_count; i++) {
		const hearth_module_field *field = &row->fields[i];

		if (field->scope == HEARTH_SCOPE_WORKER && field->size) {
			add((hearth_state_row){field->name, module->name, (char *) module->globals_ptr + field->offset, field->size, HEARTH_STATE_KEPT, ""});
		}
	}
}

static void add_modules(void)
{
	zend_module_entry *module;

	ZEND_HASH_FOREACH_PTR(&module_registry, module) {
		if (module->globals_size && module->globals_ptr) {
			add_module(module);
		}
	} ZEND_HASH_FOREACH_END();
}

/* Not before boot is over: only then the ranges are known. */
const hearth_state_row *hearth_state_rows(size_t *count)
{
	if (!rows && !hearth_booting) {
		HEARTH_TASK_FIELDS(HEARTH_TASK_ROW)
		HEARTH_REQUEST_FIELDS(HEARTH_REQUEST_ROW)
		add_ranges();
		add_engine();
		add_settings();
		add_modules();
	}
	*count = row_count;
	return rows;
}
