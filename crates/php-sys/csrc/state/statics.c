/*
 * Rows for variables that no header declares, all of them the worker's: identified by the functions that use them.
 *
 * This does not depend on the build of a library: in a release where the variables lie elsewhere they are found again, and
 * where a function no longer uses them the check reports them.
 */
#include "compat.h"
#include "engine/internal_call.h"
#include "state/map.h"
#include "state/rows.h"
#include "task/task.h"

typedef struct { const char *name, *library, *functions, *why; } kept_static;

static const kept_static kept[] = {
	{"garbage collector", "libphp", "zend_gc_get_status zend_gc_collect_cycles gc_enabled gc_protected gc_remove_from_buffer gc_enable gc_possible_root",
		"what it knows of the objects of the process; gc_disable() is a setting"},
	{"numbers as text", "libphp", "zend_dtoa zend_freedtoa zend_strtod zend_shutdown_strtod", "memory to use again"},
	{"uniqid()", "libphp", "uniqid()", "when it was called last: no two calls have the same time"},
	{"IPv6", "libphp", "php_network_getaddresses", "whether the machine has it"},
	{"opcache", "opcache", "RINIT_of_Zend_OPcache post-deactivate_of_Zend_OPcache chdir() on_modify_of_include_path",
		"follows the working directory and include_path, and what was loaded last"},
	{"array_multisort()", "libphp", "array_multisort()", "written at the start of a call, which is not left"},
	{"iptcembed()", "libphp", "iptcembed()", "written and used in one call"},
	{"pcre", "libphp", "pcre_get_compiled_regex_cache_ex php_pcre_create_match_data", "tables of characters, one for each locale, and memory to use again"},
	{"autoloaders", "libphp", "spl_autoload_functions()", "what a request registers stays"},
	{"observers", "libphp", "zend_observer_fiber_switch_notify zend_observer_fcall_end_all", "saved with the stack"},
	{"MongoDB", "mongodb", "_mongoc_handshake_get bson_context_get_default mongoc_shared_ptr_reset one_behind__siphash", "the driver's, made once"},
	{"XML-RPC", "xmlrpc", "xmlrpc_str_as_vector_type xmlrpc_str_as_type xmlrpc_type_as_str", "tables that are made once"},
	{"RedisSentinel", "redis", "create_sentinel_object", "handlers of objects, made once"},
	{"excimer's timers", "excimer", "excimer_timer_thread_init excimer_timer_init", "timers of the process"},
	{"kinds of ancillary data", "sockets", "socket_cmsg_space() socket_import_stream()", "made once"},
	{"readline", "readline", "RSHUTDOWN_of_readline readline_info() readline_completion_function() readline_callback_handler_install()",
		"a process has one terminal, and workers have none"},
	{"fileinfo", "fileinfo", "get_module one_behind_get_module", "handlers of objects, and a database that is read once"},
};

/* Exported variables. */
static const kept_static kept_symbols[] = {
	{"functions of other libraries", "", HEARTH_BOUND_FUNCTIONS, "found at the first call"},
	{"excimer", "excimer", "excimer_timer_globals", "timers of the process"},
	{"Imagick::setProgressMonitor()", "imagick", "imagick_globals", "the library has one monitor per process"},
	{"pinba", "pinba", "pinba_globals", "what it measures is the worker's"},
	{"Solr", "solr", "solr_globals", "numbers of its objects"},
	{"uopz", "uopz", "uopz_globals", "it changes functions of the process, and is for tests"},
	{"Xdebug", "xdebug", "xdebug_globals", "a debugger is of the process"},
	{"Redis", "redis", "redis_object_handlers", "made once"},
	{"RedisArray", "redis", "redis_array_object_handlers", "made once"},
	{"RedisCluster", "redis", "RedisCluster_handlers", "made once"},
};

static hearth_state_row *rows;
static size_t row_count;

static void add_row(const kept_static *one, uintptr_t start, uintptr_t end)
{
	rows = perealloc(rows, (row_count + 1) * sizeof *rows, 1);
	rows[row_count++] = (hearth_state_row){one->name, one->library, (const void *) start, end - start, HEARTH_STATE_KEPT, one->why};
}

/* Whether the name is one of these words, in which underscores stand for the name's blanks. */
static bool is_one_of(const char *name, const char *words)
{
	size_t length = strlen(name);

	for (const char *word = words; word; word = strchr(word, ' ')) {
		size_t at = 0;

		word += *word == ' ';
		while (at < length && (word[at] == name[at] || (word[at] == '_' && name[at] == ' '))) {
			at++;
		}
		if (at == length && (word[at] == ' ' || !word[at])) {
			return true;
		}
	}
	return false;
}

/*
 * crypt() has constant tables that it makes at its first call, and buffers for its results, in functions none of which is
 * exported: the variables are those that its calls change.
 */
static const char *const crypt_salts[] = {"ab", "_J9..rasm", "$1$saltsalt$", "$2y$04$abcdefghijklmnopqrstuu", "$5$saltstring", "$6$saltstring"};

static void call_crypt(const char *salt)
{
	zval arguments[2], result;

	ZVAL_STRING(&arguments[0], "x");
	ZVAL_STRING(&arguments[1], salt);
	if (hearth_call_function("crypt", 2, arguments, &result)) {
		zval_ptr_dtor(&result);
	}
	zval_ptr_dtor(&arguments[0]);
	zval_ptr_dtor(&arguments[1]);
}

static void add_changed(const kept_static *one, const hearth_segment *segment, const char *before)
{
	uintptr_t end = segment->start + segment->size;
	char names[64];

	for (uintptr_t at = segment->start; at < end; at++) {
		hearth_static found;

		if (before[at - segment->start] == *(const char *) at || hearth_variable_at(segment->library, at)) {
			continue;
		}
		found = hearth_static_at(segment->library, at, names, sizeof names);
		add_row(one, found.start, found.end);
		at = found.end > at + 1 ? found.end - 1 : at;
	}
}

static void call_all_crypts(void)
{
	for (size_t i = 0; i < sizeof crypt_salts / sizeof *crypt_salts; i++) {
		call_crypt(crypt_salts[i]);
	}
}

/* Calls usort() with a comparison that returns a bool: the deprecation of that is reported once in each call. */
static void call_usort(void)
{
	zval arguments[2], result;
	int reporting = EG(error_reporting);

	array_init(&arguments[0]);
	add_next_index_string(&arguments[0], "a");
	add_next_index_string(&arguments[0], "b");
	ZVAL_MAKE_REF(&arguments[0]);
	ZVAL_STRING(&arguments[1], "str_contains");
	EG(error_reporting) = 0;
	if (hearth_call_function("usort", 2, arguments, &result)) {
		zval_ptr_dtor(&result);
	}
	EG(error_reporting) = reporting;
	if (hearth_call_function("error_clear_last", 0, NULL, &result)) {
		zval_ptr_dtor(&result);
	}
	zval_ptr_dtor(&arguments[0]);
	zval_ptr_dtor(&arguments[1]);
}

static const struct { kept_static row; void (*call)(void); } called[] = {
	{{"crypt()", "libphp", "", "constant tables, and results that the next call overwrites"}, call_all_crypts},
	{{"usort()", "libphp", "", "whether this call has said something; written at the start of each"}, call_usort},
};

static void find_called(const hearth_segment *segment)
{
	char *before = pemalloc(segment->size, 1);

	/* First calls, so that those below initialise nothing else. */
	hearth_static_at(segment->library, segment->start, before, 1);
	call_crypt("$5$saltstring");
	for (size_t i = 0; i < sizeof called / sizeof *called; i++) {
		memcpy(before, (const char *) segment->start, segment->size);
		called[i].call();
		add_changed(&called[i].row, segment, before);
	}
	pefree(before, 1);
}

/* C++: the guards of variables in functions, which are initialised once. */
static void find_guards(hearth_prelude *library)
{
	static const kept_static guard = {"variables of functions", "", "", "made at the first call"};

	hearth_read_symbols(library);
	for (size_t i = 0; i < library->variable_count; i++) {
		const hearth_symbol *one = &library->variables[i];

		if (strncmp(one->name, "_ZGV", 4) == 0) {
			add_row(&guard, one->address, one->address + one->size);
		}
	}
}

static void find_symbol(const kept_static *one, hearth_prelude *library)
{
	hearth_read_symbols(library);
	for (size_t i = 0; i < library->variable_count; i++) {
		if (strcmp(library->variables[i].name, one->functions) == 0) {
			add_row(one, library->variables[i].address, library->variables[i].address + library->variables[i].size);
		}
	}
}

static bool is_of(const kept_static *one, const hearth_prelude *library)
{
	return strncmp(library->name, one->library, strlen(one->library)) == 0;
}

static void find(const kept_static *one, hearth_prelude *library)
{
	const hearth_symbol *references = hearth_references(library);

	for (size_t i = 0; i < library->reference_count; i++) {
		if (is_one_of(references[i].name, one->functions)) {
			char names[64];
			hearth_static found = hearth_static_at(library, references[i].address, names, sizeof names);

			add_row(one, found.start, found.end);
		}
	}
}

const hearth_state_row *hearth_static_rows(size_t *count)
{
	static bool ready;
	size_t segments;
	const hearth_segment *segment = hearth_segments(&segments);

	for (size_t i = 0; !ready && i < segments; i++) {
		hearth_prelude *library = segment[i].library;

		for (size_t k = 0; k < sizeof kept / sizeof *kept; k++) {
			if (is_of(&kept[k], library)) { find(&kept[k], library); }
		}
		for (size_t k = 0; k < sizeof kept_symbols / sizeof *kept_symbols; k++) {
			if (is_of(&kept_symbols[k], library)) { find_symbol(&kept_symbols[k], library); }
		}
		find_guards(library);
		if (strncmp(library->name, "libphp", 6) == 0) {
			find_called(&segment[i]);
		}
	}
	ready = true;
	*count = row_count;
	return rows;
}
