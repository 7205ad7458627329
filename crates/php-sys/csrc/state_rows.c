/* Rows for the fields of task_state.h, and one for the globals of every module. */
#include "task_state.h"
#include "state_rows.h"

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

static void add_modules(void)
{
	zend_module_entry *module;

	ZEND_HASH_FOREACH_PTR(&module_registry, module) {
		if (module->globals_size && module->globals_ptr) {
			char *name = pestrdup(module->name, 1);

			name = perealloc(name, strlen(name) + sizeof "module:", 1);
			memmove(name + sizeof "module:" - 1, name, strlen(module->name) + 1);
			memcpy(name, "module:", sizeof "module:" - 1);
			add((hearth_state_row){name, module->name, module->globals_ptr, module->globals_size, HEARTH_STATE_UNTREATED, ""});
		}
	} ZEND_HASH_FOREACH_END();
}

const hearth_state_row *hearth_state_rows(size_t *count)
{
	if (!rows) {
		HEARTH_TASK_FIELDS(HEARTH_TASK_ROW)
		HEARTH_REQUEST_FIELDS(HEARTH_REQUEST_ROW)
		add_engine();
		add_settings();
		add_modules();
	}
	*count = row_count;
	return rows;
}
