/* The table as memory of this process: what is exchanged, and, for the check, what belongs to the worker. */
#include "engine/engine.h"
#include "state/ranges.h"
#include "state/rows.h"
#include "state_table.h"

#include <dlfcn.h>
#include <ext/standard/file.h>
#include <link.h>

static hearth_state_row *rows;
static size_t row_count;

static void add(hearth_state_row row)
{
	rows = perealloc(rows, (row_count + 1) * sizeof *rows, 1);
	rows[row_count++] = row;
}

#define HEARTH_TASK_ROW(live, type, field) add((hearth_state_row){#live, "engine", &live, sizeof(live), HEARTH_STATE_TASK, ""});
#define HEARTH_REQUEST_ROW(live, type, field) add((hearth_state_row){#live, "engine", &live, sizeof(live), HEARTH_STATE_REQUEST, ""});

/* State that the engine itself saves when it changes stacks, that only grows, or that is compared elsewhere. */
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
	X(EG(function_table), "definitions stay") \
	X(EG(class_table), "definitions stay") \
	X(EG(zend_constants), "definitions stay") \
	X(EG(ini_directives), "compared by meaning") \
	X(CG(function_table), "definitions stay") \
	X(CG(class_table), "definitions stay") \
	X(BG(putenv_ht), "compared by meaning") \
	X(EG(objects_store), "numbers of objects go on") \
	X(EG(error_reporting_ini_entry), "where the setting is; looked up once") \
	X(EG(trampoline), "says itself whether it is in use") \
	X(EG(ht_iterators_slots), "each has its place in it") \
	X(EG(ht_iterators_used), "how many places there are") \
	X(EG(ht_iterators_count), "how many fit") \
	X(EG(ht_iterators), "a larger table where more than sixteen were needed") \
	X(EG(weakrefs), "those of all objects") \
	X(CG(map_ptr_last), "functions and classes get their numbers once") \
	X(CG(rtd_key_counter), "declarations get their numbers once") \
	X(CG(interned_strings), "grows with code") \
	X(CG(open_files), "empty where a task can be left; after a fatal error, what the worker closes with itself") \
	X(CG(delayed_oplines_stack), "the compiler's; it is never left") \
	X(CG(loop_var_stack), "the compiler's; it is never left") \
	X(CG(increment_lineno), "the compiler's; it is never left") \
	X(CG(parse_error), "the compiler's; it is never left") \
	X(CG(ini_parser_param), "the parser's; it is never left") \
	X(language_scanner_globals, "the compiler's; it is never left") \
	X(ini_scanner_globals, "the parser's; it is never left") \
	X(FG(pclose_ret), "from one call to the next line of the engine") \
	X(PG(php_sys_temp_dir), "found once") \
	X(PG(have_called_openlog), "the C library has one log per process") \
	X(BG(syslog_device), "the C library has one log per process") \
	X(BG(locale_changed), "that setlocale() has been called") \
	X(BG(umask), "what was before the first umask()") \
	X(BG(page_uid), "whose the entry script is") \
	X(BG(page_gid), "whose the entry script is") \
	X(BG(page_inode), "of the entry script") \
	X(BG(page_mtime), "of the entry script") \
	X(BG(ssb), "said to be valid by the name beside it, which is reset") \
	X(BG(lssb), "said to be valid by the name beside it, which is reset") \
	X(BG(active_ini_file_section), "written before it is read, in each call") \
	X(BG(url_adapt_session_hosts_ht), "follows the setting") \
	X(BG(url_adapt_output_hosts_ht), "follows the setting") \
	X(EG(in_autoload), "empty where a task can be left") \
	X(CG(delayed_variance_obligations), "empty where a task can be left") \
	X(CG(delayed_autoloads), "empty where a task can be left") \
	X(CG(arena), "the compiler's; it is never left") \
	X(CG(short_circuiting_opnums), "the compiler's; it is never left") \
	X(CG(ini_parser_unbuffered_errors), "the parser's; it is never left") \
	X(CG(skip_shebang), "of the entry script") \
	X(CG(zend_lineno), "the compiler's; it is never left") \
	X(CG(unlinked_uses), "the compiler's; it is never left") \
	X(CG(map_ptr_real_base), "grows with functions and classes") \
	X(CG(map_ptr_base), "grows with functions and classes") \
	X(CG(map_ptr_size), "grows with functions and classes") \
	X(zend_signal_globals, "a process has one set of signal handlers") \
	X(pcre_globals.pcre_cache, "compiled patterns are the worker's") \
	X(pcre_globals.unmatched_null_pair, "made once") \
	X(pcre_globals.unmatched_empty_pair, "made once")

#define HEARTH_KEPT_FIELDS_SINCE_8_4(X) HEARTH_SINCE_8_4( \
	X(EG(stack_base), "saved with the stack") \
	X(EG(stack_limit), "saved with the stack") \
	X(EG(lazy_objects_store), "those of all objects") \
	X(EG(strtod_state), "memory to use again"))

#define HEARTH_KEPT_ROW(live, why) add((hearth_state_row){#live, "engine", &live, sizeof(live), HEARTH_STATE_KEPT, why});

static void add_engine(void)
{
	const virtual_cwd_globals *cwd = (const void *) ((char *) realpath_cache_get_buckets() - offsetof(virtual_cwd_globals, realpath_cache));

	HEARTH_KEPT_FIELDS(HEARTH_KEPT_ROW)
	HEARTH_KEPT_FIELDS_SINCE_8_4(HEARTH_KEPT_ROW)
	add((hearth_state_row){"CWDG(realpath_cache)", "engine", &cwd->realpath_cache_size,
		sizeof *cwd - offsetof(virtual_cwd_globals, realpath_cache_size), HEARTH_STATE_KEPT, "a cache with a time limit"});
}

/*
 * The places of settings' values, which are compared as settings: the setting's own code updates the place, and equal
 * values may have several addresses or spellings.
 */
static void add_settings(void)
{
	zend_ini_entry *entry;

	ZEND_HASH_FOREACH_PTR(EG(ini_directives), entry) {
		const char *place = (const char *) entry->mh_arg2 + (size_t) entry->mh_arg1;

		if (entry->mh_arg2) {
			add((hearth_state_row){ZSTR_VAL(entry->name), "settings", place, entry->on_modify == OnUpdateBool ? 1 : sizeof(char *),
				HEARTH_STATE_KEPT, "follows the setting"});
		}
	} ZEND_HASH_FOREACH_END();
}

static void add_ranges(void)
{
	hearth_range_view view;

	for (uint32_t i = 0; hearth_ranges_view(i, &view); i++) {
		add((hearth_state_row){view.owner, view.owner, view.live, view.size,
			view.dropped ? HEARTH_STATE_RESET : HEARTH_STATE_RESTORED, ""});
	}
}

typedef struct { const char *module; size_t offset, size; const char *name, *why; } kept_field;

static void add_fields(const zend_module_entry *module)
{
	static const kept_field kept[] = {
		{"date", offsetof(zend_date_globals, tzcache), sizeof(HashTable *), "DATEG(tzcache)", "time zones are read once"},
		{"pcntl", 0, SIZE_MAX, "pcntl", "a process has one set of signal handlers"},
		{"FFI", 0, SIZE_MAX, "FFI", "the parser's, which is not left, and what is loaded once"},
		{"exif", 0, SIZE_MAX, "exif", "tables are made once"},
		{"session", offsetof(php_ps_globals, http_session_vars), sizeof(zend_value), "PS(http_session_vars).value", "its type says that it is undefined"},
		{"session", offsetof(php_ps_globals, send_cookie), sizeof(bool), "PS(send_cookie)", "written at the start of each session"},
		{"session", offsetof(php_ps_globals, define_sid), sizeof(bool), "PS(define_sid)", "written at the start of each session"},
		HEARTH_SINCE_8_4({"session", offsetof(php_ps_globals, random_state), sizeof(php_random_status_state_pcgoneseq128xslrr64),
			"PS(random_state)", "seeded before it is read; it decides when old sessions are collected"},)
		{"session", offsetof(php_ps_globals, default_mod), sizeof(void *), "PS(default_mod)", "the handler of sessions that the settings name"},
	};

	for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
		if (strcasecmp(module->name, kept[i].module) == 0) {
			add((hearth_state_row){kept[i].name, module->name, (char *) module->globals_ptr + kept[i].offset,
				kept[i].size == SIZE_MAX ? module->globals_size : kept[i].size, HEARTH_STATE_KEPT, kept[i].why});
		}
	}
}

/* Adds the fields that the table lists as the worker's. */
static void add_listed(const zend_module_entry *module, const hearth_module_row *row)
{
	char *globals = hearth_module_globals(module, row);

	for (uint32_t i = 0; globals && i < row->field_count; i++) {
		const hearth_module_field *field = &row->fields[i];

		if (field->scope == HEARTH_SCOPE_WORKER && field->size) {
			add((hearth_state_row){field->name, module->name, globals + field->offset, field->size, HEARTH_STATE_KEPT, ""});
		}
	}
}

/* Adds globals that the module entry does not have, in the size of their symbol. */
static void add_kept(const zend_module_entry *module, const hearth_module_row *row)
{
	const char *globals = hearth_module_globals(module, row);
	const ElfW(Sym) *symbol = NULL;
	Dl_info info;

	if (globals && dladdr1(globals, &info, (void **) &symbol, RTLD_DL_SYMENT) && symbol && info.dli_saddr == globals) {
		add((hearth_state_row){module->name, module->name, globals, symbol->st_size, HEARTH_STATE_KEPT, ""});
	}
}

/* Globals that the table does not list get a row with their name only. */
static void add_module(const zend_module_entry *module)
{
	const hearth_module_row *row = hearth_module_row_of(module->name);
	bool kept = row && row->globals == HEARTH_GLOBALS_KEPT;

	if (row && (!module->globals_size || row->size == module->globals_size)) {
		add_listed(module, row);
	}
	if (module->globals_size && module->globals_ptr) {
		add_fields(module);
		add((hearth_state_row){module->name, module->name, module->globals_ptr, module->globals_size,
			kept ? HEARTH_STATE_KEPT : HEARTH_STATE_UNTREATED, ""});
	} else if (kept) {
		add_kept(module, row);
	}
}

static void add_modules(void)
{
	zend_module_entry *module;

	ZEND_HASH_FOREACH_PTR(&module_registry, module) {
		add_module(module);
	} ZEND_HASH_FOREACH_END();
}

/* Only after boot: the ranges are not known before. */
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
