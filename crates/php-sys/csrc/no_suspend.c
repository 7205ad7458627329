/*
 * Functions of PHP that a task does not leave: what they do stands in variables of the process that nothing exchanges, so a
 * second call in the middle of the first would spoil it. What waits inside them blocks the worker.
 */
#include "task.h"

static const char *const names[] = {
	/* the comparison functions of its columns */
	"array_multisort",
	/* the state of the scanner, saved and restored around the whole */
	"highlight_file", "show_source", "php_strip_whitespace", "parse_ini_file", "parse_ini_string", "highlight_string",
	/* the file that is being read */
	"get_browser",
};
#define COUNT (sizeof names / sizeof *names)

static const zend_function *functions[COUNT];
static zif_handler handlers[COUNT];

static void on_call(INTERNAL_FUNCTION_PARAMETERS)
{
	for (size_t i = 0; i < COUNT; i++) {
		if (functions[i] && (EX(func) == functions[i] || zend_string_equals(EX(func)->common.function_name, functions[i]->common.function_name))) {
			hearth_no_switch++;
			handlers[i](INTERNAL_FUNCTION_PARAM_PASSTHRU);
			hearth_no_switch--;
			return;
		}
	}
}

void hearth_watch_no_suspend(void)
{
	for (size_t i = 0; i < COUNT; i++) {
		zend_function *function = zend_hash_str_find_ptr(CG(function_table), names[i], strlen(names[i]));

		if (function) {
			functions[i] = function;
			handlers[i] = function->internal_function.handler;
			function->internal_function.handler = on_call;
		}
	}
}
