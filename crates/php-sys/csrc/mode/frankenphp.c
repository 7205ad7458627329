/*
 * FrankenPHP's worker scripts, unchanged: the entry script runs on a stack of its own and stays in
 * frankenphp_handle_request() between two requests. A request's task is that stack, so the callback runs with the request's
 * superglobals and output, and code that runs before the script asks for the next request is work after the response.
 */
#include "mode/mode.h"
#include "request/request.h"
#include "session/session.h"
#include "task/no_suspend.h"
#include "task/entry.h"
#include "mode/frankenphp_arginfo.h"

#include <ext/spl/spl_exceptions.h>

/* The script's task, once the script has called frankenphp_handle_request(); NULL for an app that returned a handler. */
hearth_task *hearth_loop;
/* Whether the script has ended: this worker is to be replaced. */
bool hearth_loop_ended;

static bool stopping, false_returned, handling;

/* Ends the request that the script was given, when the script goes on. */
void hearth_loop_end_request(hearth_task *task)
{
	if (task->request) {
		hearth_request_end(task);
		php_output_end_all();
		php_output_deactivate();
	}
}

/* Called when the script has ended, for whatever reason. */
void hearth_loop_script_ended(hearth_task *task)
{
	hearth_loop_end_request(task);
	hearth_loop_ended = true;
	if (!stopping) {
		hearth_on_leave((hearth_str){ZEND_STRL("its script has ended")}, false);
	}
}

/* Prepares the parked script for a request, or for its end without one. */
static hearth_task *arm(hearth_request_state *state, void *owner)
{
	hearth_task *task = hearth_loop;

	task->generation++;
	task->request = state;
	task->owner = owner;
	task->done = task->busy = task->broken = task->interrupted = task->fatal_pending = false;
	task->effective_task = 0;
	hearth_task_state_init(&task->saved);
	return task;
}

hearth_task *hearth_loop_request(hearth_request_state *state, void *owner)
{
	return hearth_loop && !hearth_loop_ended && !hearth_loop->request && !stopping ? arm(state, owner) : NULL;
}

/* Returns a task in which frankenphp_handle_request() returns false, for the script's last lines; NULL if there is none. */
hearth_task *hearth_loop_stop(void *owner)
{
	if (!hearth_loop || hearth_loop_ended || hearth_loop->request) {
		return NULL;
	}
	stopping = true;
	return arm(hearth_request_state_new(NULL), owner);
}

static bool may_handle_request(void)
{
	hearth_task *script = hearth_loop ? hearth_loop : hearth_entry_task;

	if (!script || hearth_loop_ended || hearth_current != hearth_loop) {
		zend_throw_exception(spl_ce_RuntimeException, "frankenphp_handle_request() called while not in worker mode", 0);
		return false;
	}
	if (handling) {
		zend_throw_exception(spl_ce_RuntimeException, "frankenphp_handle_request() called inside its own callback", 0);
		return false;
	}
	if (hearth_in_section() || zend_fiber_switch_blocked()) {
		zend_throw_error(NULL, "frankenphp_handle_request() cannot wait here: inside an autoloader, the compiler, "
			"the garbage collector, or another place where the engine forbids a switch");
		return false;
	}
	return true;
}

/* Waits until there is a request; false when the script is to end. */
static bool next_request(void)
{
	hearth_task *task = hearth_current;

	if (task) {
		hearth_loop_end_request(task);
		task->done = true;
	} else {
		task = hearth_loop = hearth_entry_task;
		php_output_end_all();
		hearth_entry_left();
	}
	hearth_task_park(task);
	php_output_activate();
	return !stopping;
}

ZEND_FUNCTION(frankenphp_handle_request)
{
	zend_fcall_info fci;
	zend_fcall_info_cache cache;
	zval result;

	ZEND_PARSE_PARAMETERS_START(1, 1)
		Z_PARAM_FUNC(fci, cache)
	ZEND_PARSE_PARAMETERS_END();
	if (stopping && false_returned) {
		/* The script ignores the result and calls again. */
		zend_throw_unwind_exit();
		return;
	}
	if (!may_handle_request()) {
		return;
	}
	if (!next_request()) {
		false_returned = true;
		RETURN_FALSE;
	}
	hearth_boot_settings_apply();
	hearth_superglobals_need(true);
	hearth_session_auto_start();
	ZVAL_UNDEF(&result);
	fci.retval = &result;
	handling = true;
	zend_call_function(&fci, &cache);
	handling = false;
	zval_ptr_dtor(&result);
	hearth_request_answer(hearth_current->request);
	RETURN_TRUE;
}

ZEND_FUNCTION(frankenphp_finish_request)
{
	hearth_request_state *state = hearth_current_request();

	ZEND_PARSE_PARAMETERS_NONE();
	RETURN_BOOL(state && state->request && hearth_request_finish(state));
}

/* ---- $_SERVER ---- */

/* Sets a variable without the input filter: at boot the array is already the script's own. */
static void set_plainly(zval *server, const char *name, const char *value)
{
	php_register_variable(name, value, server);
}

/* Sets the variables about the script of a server; for a loop, in its requests too. */
void hearth_entry_server_variables(zval *server, bool boot)
{
	const char *slash = strrchr(hearth_entry_path, '/');
	zend_string *folder = zend_string_init(hearth_entry_path, (size_t) (slash - hearth_entry_path), 0);
	void (*set)(zval *, const char *, const char *) = boot ? set_plainly : hearth_set_server_variable;

	set(server, "SCRIPT_FILENAME", hearth_entry_path);
	set(server, "SCRIPT_NAME", slash);
	set(server, "PHP_SELF", slash);
	set(server, "DOCUMENT_ROOT", ZSTR_VAL(folder));
	set(server, "FRANKENPHP_WORKER", "1");
	zend_string_release(folder);
	if (boot && !zend_hash_str_exists(Z_ARRVAL_P(server), ZEND_STRL("APP_RUNTIME"))) {
		set(server, "APP_RUNTIME", HEARTH_SYMFONY_RUNTIME);
	}
}

/* Sets $_SERVER of the entry script: the environment, and the variables about the script. */
void hearth_entry_server(void)
{
	zval *server;

	zend_is_auto_global_str(ZEND_STRL("_SERVER"));
	server = zend_hash_str_find(&EG(symbol_table), ZEND_STRL("_SERVER"));
	if (server && Z_TYPE_P(server) == IS_ARRAY && strchr(hearth_entry_path, '/')) {
		SEPARATE_ARRAY(server);
		hearth_entry_server_variables(server, true);
	}
}

/* Called at the end of boot. */
void hearth_entry_server_forget(HashTable *server)
{
	zval *runtime = zend_hash_str_find(server, ZEND_STRL("APP_RUNTIME"));

	if (runtime && Z_TYPE_P(runtime) == IS_STRING && strcmp(Z_STRVAL_P(runtime), HEARTH_SYMFONY_RUNTIME) == 0) {
		zend_hash_str_del(server, ZEND_STRL("APP_RUNTIME"));
	}
	if (!hearth_loop) {
		zend_hash_str_del(server, ZEND_STRL("FRANKENPHP_WORKER"));
		zend_hash_str_del(server, ZEND_STRL("DOCUMENT_ROOT"));
	}
}

/* ---- registration ---- */

void hearth_register_frankenphp(void)
{
	zend_register_functions(NULL, ext_functions, NULL, MODULE_PERSISTENT);
}
