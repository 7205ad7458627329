/*
 * Functions of PHP in which a task is not left: they keep state in variables of the process that are not exchanged, so a
 * second call in the middle of the first would corrupt it. A wait inside them blocks the worker.
 */
#include "engine/intercept.h"

static const char *const functions[] = {
	/* the comparison functions of its columns */
	"array_multisort",
	/* the state of the scanner, saved and restored around the whole */
	"highlight_file", "highlight_string", "php_strip_whitespace", "parse_ini_file", "parse_ini_string",
	/* the file that is being read */
	"get_browser",
};

/* LIBXML_NOEMPTYTAG is a variable of libxml2, set for the time of the call. */
static const struct { const char *ce, *name; } methods[] = {{"domdocument", "save"}, {"dom\\xmldocument", "savexmlfile"},
	/* PHP functions in an expression, while libxml2 walks nodes that other code may remove */
	{"domxpath", "query"}, {"domxpath", "evaluate"}, {"dom\\xpath", "query"}, {"dom\\xpath", "evaluate"}};

/*
 * net-snmp reads the answers of all its sessions at once; libsmbclient has one context; two objects of one archive of phar share it;
 * ImageMagick calls a progress monitor under a lock of libgomp, which only it sees.
 */
static const char *const extensions[] = {"snmp", "smbclient", "phar", "imagick", "gmagick"};

static bool is_of_such_extension(const zend_function *function)
{
	const zend_module_entry *module = function->internal_function.module;

	for (size_t i = 0; module && i < sizeof extensions / sizeof *extensions; i++) {
		if (strcasecmp(module->name, extensions[i]) == 0) {
			return true;
		}
	}
	return false;
}

static void watch_extensions(HashTable *table)
{
	zend_function *function;

	ZEND_HASH_FOREACH_PTR(table, function) {
		if (function->type == ZEND_INTERNAL_FUNCTION && is_of_such_extension(function)) {
			hearth_intercept_of(function)->no_suspend = true;
		}
	} ZEND_HASH_FOREACH_END();
}

static void watch_methods(void)
{
	for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
		const zend_class_entry *ce = zend_hash_str_find_ptr(CG(class_table), methods[i].ce, strlen(methods[i].ce));
		zend_function *method = ce ? zend_hash_str_find_ptr(&ce->function_table, methods[i].name, strlen(methods[i].name)) : NULL;

		if (method) {
			hearth_intercept_of(method)->no_suspend = true;
		}
	}
}

void hearth_intercept_no_suspend(void)
{
	zend_class_entry *ce;

	watch_methods();
	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
		zend_function *function = zend_hash_str_find_ptr(CG(function_table), functions[i], strlen(functions[i]));

		if (function) {
			hearth_intercept_of(function)->no_suspend = true;
		}
	}
	watch_extensions(CG(function_table));
	ZEND_HASH_FOREACH_PTR(CG(class_table), ce) {
		watch_extensions(&ce->function_table);
	} ZEND_HASH_FOREACH_END();
}
