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

/*
 * Methods of these extensions, in which libxml2 or libxslt walks a document while it writes to a stream, reads from one, calls PHP functions
 * or reports errors, for which PHP calls the error handler. Other code may remove the nodes meanwhile. LIBXML_NOEMPTYTAG is a variable
 * of libxml2, too, set for the time of the call.
 */
static const char *const walking_extensions[] = {"dom", "simplexml", "xsl"};
static const char *const walking_methods[] = {
	"save", "savexml", "savexmlfile", "savehtml", "savehtmlfile", "asxml", "c14n", "c14nfile", "xinclude", "validate", "schemavalidate",
	"schemavalidatesource", "relaxngvalidate", "relaxngvalidatesource", "normalizedocument", "query", "evaluate", "xpath",
	"importstylesheet", "transformtodoc", "transformtouri", "transformtoxml",
};

/*
 * net-snmp reads the answers of all its sessions at once; libsmbclient has one context; two objects of one archive of phar share it;
 * ImageMagick calls a progress monitor under a lock of libgomp, which only it sees; php-rrd goes over the
 * array of options by the array's own position while it converts them, and two calls may have one array; libvirt has one error per
 * thread, which each call resets.
 */
static const char *const extensions[] = {"snmp", "smbclient", "phar", "imagick", "gmagick", "rrd", "libvirt"};

#define COUNT(list) (sizeof (list) / sizeof *(list))

static bool has(const char *const *list, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++) {
		if (strcasecmp(list[i], name) == 0) {
			return true;
		}
	}
	return false;
}

static bool is_of(const zend_function *function, const char *const *list, size_t count)
{
	const zend_module_entry *module = function->internal_function.module;

	return module && has(list, count, module->name);
}

/* Whether the function is of such an extension, or such a method. */
static bool is_watched(const zend_function *function)
{
	return is_of(function, extensions, COUNT(extensions))
		|| (function->common.scope && is_of(function, walking_extensions, COUNT(walking_extensions))
			&& has(walking_methods, COUNT(walking_methods), ZSTR_VAL(function->common.function_name)));
}

static void watch(HashTable *table)
{
	zend_function *function;

	ZEND_HASH_FOREACH_PTR(table, function) {
		if (function->type == ZEND_INTERNAL_FUNCTION && !(function->common.fn_flags & ZEND_ACC_ABSTRACT) && is_watched(function)) {
			hearth_intercept_of(function)->no_suspend = true;
		}
	} ZEND_HASH_FOREACH_END();
}

void hearth_intercept_no_suspend(void)
{
	zend_class_entry *ce;

	for (size_t i = 0; i < COUNT(functions); i++) {
		zend_function *function = zend_hash_str_find_ptr(CG(function_table), functions[i], strlen(functions[i]));

		if (function) {
			hearth_intercept_of(function)->no_suspend = true;
		}
	}
	watch(CG(function_table));
	ZEND_HASH_FOREACH_PTR(CG(class_table), ce) {
		watch(&ce->function_table);
	} ZEND_HASH_FOREACH_END();
}
