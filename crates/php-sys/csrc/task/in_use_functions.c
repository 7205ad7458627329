/* The functions and methods whose connection or stream is in use while a task waits in them: see task/in_use.c. */
#include "engine/intercept.h"
#include "task/task.h"

/*
 * Extensions whose calls leave nothing half done while another task uses the same object: they neither wait nor run PHP code in the
 * middle, or work on values of their own meanwhile. Of all other extensions, also those that are unknown here, every method is
 * covered, and every function that may be given an object or a resource.
 */
static const char *const computing_modules[] = {
	/* the language, and its values */
	"core", "standard", "spl", "date", "reflection", "random", "json", "pcre", "ctype", "tokenizer", "filter", "hash", "session", "hearth",
	"ast", "psr", "ffi", "uri",
	/* texts and numbers */
	"mbstring", "iconv", "intl", "gettext", "bcmath", "gmp", "calendar", "openssl", "sodium", "zlib", "igbinary", "msgpack", "yaml",
	/* documents, whose nodes are many objects of one tree */
	"libxml", "dom", "simplexml",
	/* the process, its memory and its processor time */
	"posix", "pcntl", "readline", "shmop", "sysvmsg", "sysvsem", "sysvshm", "apcu", "zend opcache", "pcov", "xdebug", "excimer",
	"tideways_xhprof",
};

/* Functions of the extensions above that are covered, and others that do more than use their arguments. */
static const struct {
	const char *name;
	uint8_t use;
} functions[] = {
	{"fclose", HEARTH_CLOSES},
	{"pclose", HEARTH_CLOSES},
	{"stream_socket_shutdown", HEARTH_CLOSES},
	{"socket_close", HEARTH_CLOSES},
	/* a read in the middle has a buffer of the size that it began with */
	{"stream_set_chunk_size", HEARTH_IN_USE},
	{"stream_select", HEARTH_IN_USE_SHARED | HEARTH_IN_USE_ARRAYS},
	{"socket_select", HEARTH_IN_USE_SHARED | HEARTH_IN_USE_ARRAYS},
	{"mysqli_poll", HEARTH_IN_USE_ARRAYS},
	/* ext/curl empties the buffer of the handle */
	{"curl_multi_add_handle", HEARTH_IN_USE_OBJECTS},
	{"curl_multi_remove_handle", HEARTH_IN_USE_OBJECTS},
	{"pg_close", HEARTH_CLOSES},
	{"pg_field_table", HEARTH_OF_RESULT},
	{"pg_field_type", HEARTH_OF_RESULT},
	{"closedir", HEARTH_CLOSES | HEARTH_LAST_DIRECTORY},
	{"flock", HEARTH_IN_USE_SHARED},
	{"fread", HEARTH_IN_USE},
	{"fwrite", HEARTH_IN_USE},
	{"fgets", HEARTH_IN_USE},
	{"fgetc", HEARTH_IN_USE},
	{"fgetcsv", HEARTH_IN_USE},
	{"fputcsv", HEARTH_IN_USE},
	{"fscanf", HEARTH_IN_USE},
	{"fpassthru", HEARTH_IN_USE},
	{"fflush", HEARTH_IN_USE},
	{"fseek", HEARTH_IN_USE},
	{"rewind", HEARTH_IN_USE},
	{"feof", HEARTH_IN_USE},
	{"ftruncate", HEARTH_IN_USE},
	{"stream_get_contents", HEARTH_IN_USE},
	{"stream_get_line", HEARTH_IN_USE},
	{"stream_copy_to_stream", HEARTH_IN_USE},
	{"fprintf", HEARTH_IN_USE},
	{"vfprintf", HEARTH_IN_USE},
	{"stream_filter_append", HEARTH_IN_USE},
	{"stream_filter_prepend", HEARTH_IN_USE},
	{"stream_filter_remove", HEARTH_IN_USE},
	{"readdir", HEARTH_IN_USE | HEARTH_LAST_DIRECTORY},
	{"rewinddir", HEARTH_IN_USE | HEARTH_LAST_DIRECTORY},
	{"hash_update_stream", HEARTH_IN_USE},
	{"hash_update_file", HEARTH_IN_USE},
	{"hash_update", HEARTH_IN_USE},
	{"hash_final", HEARTH_IN_USE},
	/* the __toString() of what is formatted */
	{"msgfmt_format", HEARTH_IN_USE},
	{"msgfmt_set_pattern", HEARTH_IN_USE},
	{"stream_socket_accept", HEARTH_IN_USE},
	{"stream_socket_recvfrom", HEARTH_IN_USE},
	{"stream_socket_sendto", HEARTH_IN_USE},
	{"stream_socket_enable_crypto", HEARTH_IN_USE},
	/* streams that they read or write beside their first argument */
	{"file_put_contents", HEARTH_IN_USE},
	/* they wait for the disk, or run code of a wrapper written in PHP */
	{"fsync", HEARTH_HARMLESS},
	{"fdatasync", HEARTH_HARMLESS},
	{"fstat", HEARTH_HARMLESS},
	{"stream_get_meta_data", HEARTH_HARMLESS},
	{"stream_isatty", HEARTH_HARMLESS},
	{"posix_isatty", HEARTH_HARMLESS},
	{"posix_ttyname", HEARTH_HARMLESS},
	{"stream_set_blocking", HEARTH_HARMLESS},
	{"stream_set_read_buffer", HEARTH_HARMLESS},
	{"stream_set_timeout", HEARTH_HARMLESS},
	{"stream_set_write_buffer", HEARTH_HARMLESS},
	{"stream_supports_lock", HEARTH_HARMLESS},
};

/* All methods of these classes and of their subclasses: some of them wait for a stream, or run PHP code in the middle. */
static const char *const classes[] = {"splfileobject", "directoryiterator", "uconverter", "messageformatter", "messagepackunpacker"};

/*
 * Iterators that hold others: while one of those runs PHP code, a step of another task, or a change of the list, would free it. Covered are
 * the methods of these classes and their subclasses, not those of the classes above, which many others inherit. A new object is not shared yet.
 */
static const char *const iterators[] = {"recursiveiteratoriterator", "appenditerator", "multipleiterator"};

static bool only_computes(const zend_module_entry *module)
{
	for (size_t i = 0; module && i < sizeof computing_modules / sizeof *computing_modules; i++) {
		if (strcasecmp(module->name, computing_modules[i]) == 0) {
			return true;
		}
	}
	return !module;
}

bool hearth_waits_in_its_calls(const zend_class_entry *ce)
{
	return ce->type == ZEND_INTERNAL_CLASS && !only_computes(ce->info.internal.module);
}

/* Whether a parameter may be an object or, being without a type, a resource. */
static bool may_take_connection(const zend_internal_function *function)
{
	uint32_t count = function->num_args + ((function->fn_flags & ZEND_ACC_VARIADIC) != 0);

	for (uint32_t i = 0; i < count; i++) {
		zend_type type = function->arg_info[i].type;

		if (!ZEND_TYPE_IS_SET(type) || ZEND_TYPE_IS_COMPLEX(type) || (ZEND_TYPE_PURE_MASK(type) & MAY_BE_OBJECT)) {
			return true;
		}
	}
	return false;
}

static void use_all(HashTable *all)
{
	static const zend_module_entry *last;
	static bool covered;
	zend_function *function;

	ZEND_HASH_FOREACH_PTR(all, function) {
		if (function->type != ZEND_INTERNAL_FUNCTION || (function->common.fn_flags & ZEND_ACC_ABSTRACT)) {
			continue;
		}
		if (function->internal_function.module != last) {
			last = function->internal_function.module;
			covered = !only_computes(last);
		}
		if (covered && (function->common.scope || may_take_connection(&function->internal_function))) {
			hearth_intercept_of(function)->use |= HEARTH_IN_USE;
		}
	} ZEND_HASH_FOREACH_END();
}

static bool is_in(const zend_class_entry *ce, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		for (const zend_class_entry *of = ce; of && of->type == ZEND_INTERNAL_CLASS; of = of->parent) {
			if (strcasecmp(ZSTR_VAL(of->name), list[i]) == 0) {
				return true;
			}
		}
	}
	return false;
}

static bool is_listed(const zend_class_entry *ce)
{
	return is_in(ce, classes, sizeof classes / sizeof *classes);
}

static bool holds_iterators(const zend_class_entry *ce)
{
	return is_in(ce, iterators, sizeof iterators / sizeof *iterators);
}

bool hearth_use_covers(const zend_class_entry *ce)
{
	return hearth_waits_in_its_calls(ce) || is_listed(ce) || holds_iterators(ce);
}

static void use_methods(zend_class_entry *ce)
{
	zend_function *function;

	ZEND_HASH_FOREACH_PTR(&ce->function_table, function) {
		if (function->type == ZEND_INTERNAL_FUNCTION && function->internal_function.handler) {
			hearth_intercept_of(function)->use |= HEARTH_IN_USE;
		}
	} ZEND_HASH_FOREACH_END();
}

static void use_own_methods(zend_class_entry *ce)
{
	zend_function *function;

	ZEND_HASH_FOREACH_PTR(&ce->function_table, function) {
		if (function->type == ZEND_INTERNAL_FUNCTION && holds_iterators(function->common.scope)
				&& !(function->common.fn_flags & (ZEND_ACC_CTOR | ZEND_ACC_ABSTRACT))) {
			hearth_intercept_of(function)->use |= HEARTH_IN_USE;
		}
	} ZEND_HASH_FOREACH_END();
}

/* SQLite3::backup() writes to the connection that it is given. */
static void use_backup(void)
{
	zend_class_entry *sqlite = zend_hash_str_find_ptr(CG(class_table), ZEND_STRL("sqlite3"));
	zend_function *backup = sqlite ? zend_hash_str_find_ptr(&sqlite->function_table, ZEND_STRL("backup")) : NULL;

	if (backup) {
		hearth_intercept_of(backup)->use |= HEARTH_IN_USE_OBJECTS;
	}
}

void hearth_intercept_use(void)
{
	zend_class_entry *ce;
	zend_function *function;

	hearth_use_learn();
	hearth_ldap_rebind_watch();
	use_all(CG(function_table));
	ZEND_HASH_FOREACH_PTR(CG(class_table), ce) {
		use_all(&ce->function_table);
		if (is_listed(ce)) {
			use_methods(ce);
		}
		if (holds_iterators(ce)) {
			use_own_methods(ce);
		}
	} ZEND_HASH_FOREACH_END();
	use_backup();
	hearth_iterations_watch();
	hearth_kept_watch();
	hearth_ssh2_urls_watch();
	hearth_ssh2_disconnect_watch();
	hearth_dba_watch();
	hearth_memcache_watch();
	hearth_redis_contexts_watch();
	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
		function = zend_hash_str_find_ptr(CG(function_table), functions[i].name, strlen(functions[i].name));
		if (function && function->type == ZEND_INTERNAL_FUNCTION) {
			hearth_intercept_of(function)->use |= functions[i].use;
		}
	}
	function = zend_hash_str_find_ptr(&zend_ce_fiber->function_table, ZEND_STRL("suspend"));
	hearth_intercept_of(function)->suspends_fiber = true;
}
