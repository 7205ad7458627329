/* `hearth run`: the php command, with the script as a task. Follows sapi/cli/php_cli.c of PHP. */
#include "engine/engine.h"
#include "mode/mode.h"
#include "pool/pool.h"
#include "request/request.h"
#include "session/session.h"
#include "mode/cli_arginfo.h"

#include <poll.h>

static const char *script_name;
static zend_file_handle script_file;
static hearth_task *script_task;
static zend_long first_resource;

void hearth_cli_register_variables(zval *variables)
{
	const char *name = script_name ? script_name : "";

	php_import_environment_variables(variables);
	php_register_variable("PHP_SELF", (char *) name, variables);
	php_register_variable("SCRIPT_NAME", (char *) name, variables);
	php_register_variable("SCRIPT_FILENAME", (char *) name, variables);
	php_register_variable("PATH_TRANSLATED", (char *) name, variables);
	php_register_variable("DOCUMENT_ROOT", (char *) "", variables);
}

/* Standard output may be a non-blocking pipe, if the other end made it so; then no output may be lost. */
static bool writable_again(void)
{
	struct pollfd out = { .fd = STDOUT_FILENO, .events = POLLOUT };

	return errno == EINTR || (errno == EAGAIN && poll(&out, 1, -1) >= 0);
}

size_t hearth_cli_echo(const char *text, size_t length)
{
	size_t done = 0;

	while (done < length) {
		ssize_t n = write(STDOUT_FILENO, text + done, length - done);

		if (n < 0 && !writable_again()) {
			if (!script_task) {
				return length;
			}
			EG(exit_status) = 255;
			php_handle_aborted_connection();
			break;
		}
		done += n > 0 ? (size_t) n : 0;
	}
	return done;
}

/* Output printed while the engine started comes before the script's. */
int hearth_cli_deactivate(void)
{
	fflush(stdout);
	return SUCCESS;
}

static int compare_names(Bucket *a, Bucket *b)
{
	return strcasecmp(((zend_module_entry *) Z_PTR(a->val))->name, ((zend_module_entry *) Z_PTR(b->val))->name);
}

static void print_modules(void)
{
	HashTable sorted;
	zend_module_entry *module;
	zend_llist_position position;
	zend_extension *extension;

	zend_hash_init(&sorted, 64, NULL, NULL, 0);
	zend_hash_copy(&sorted, &module_registry, NULL);
	zend_hash_sort(&sorted, compare_names, 0);
	php_printf("[PHP Modules]\n");
	ZEND_HASH_FOREACH_PTR(&sorted, module) {
		php_printf("%s\n", module->name);
	} ZEND_HASH_FOREACH_END();
	zend_hash_destroy(&sorted);
	php_printf("\n[Zend Modules]\n");
	for (extension = zend_llist_get_first_ex(&zend_extensions, &position); extension;
			extension = zend_llist_get_next_ex(&zend_extensions, &position)) {
		php_printf("%s\n", extension->name);
	}
	php_printf("\n");
}

/* Functions that the php command has and libphp does not register. */
const zend_function_entry *const hearth_cli_functions = ext_functions;

/* A command has no headers: header() checks its argument, and nothing is kept. */
int hearth_cli_header(sapi_header_struct *header, sapi_header_op_enum op, sapi_headers_struct *headers)
{
	(void) header; (void) op; (void) headers;
	return 0;
}

/* Handles -v, -m and -i. */
int hearth_cli_info(char what)
{
	if (php_request_startup() == FAILURE) {
		return 1;
	}
	zend_try {
		switch (what) {
			case 'v':
				php_printf("PHP %s (%s) (%s)\nCopyright (c) The PHP Group\n%s", PHP_VERSION, sapi_module.name, "NTS", get_zend_version());
				break;
			case 'm':
				print_modules();
				break;
			default:
				php_print_info(PHP_INFO_ALL & ~PHP_INFO_CREDITS);
		}
		php_output_end_all();
	} zend_end_try();
	php_request_shutdown(NULL);
	php_module_shutdown();
	sapi_shutdown();
	return 0;
}

static void register_handle(const char *constant, const char *path, const char *mode)
{
	php_stream *stream = php_stream_open_wrapper_ex(path, mode, 0, NULL, NULL);
	zend_constant entry;

	if (!stream) {
		return;
	}
	/* The process's own streams are not closed with their last handle. */
	stream->flags |= PHP_STREAM_FLAG_NO_RSCR_DTOR_CLOSE;
	php_stream_to_zval(stream, &entry.value);
	Z_CONSTANT_FLAGS(entry.value) = 0;
	entry.name = zend_string_init_interned(constant, strlen(constant), 0);
	zend_register_constant(&entry);
}

bool hearth_cli_request_startup(const char *script, int argc, char **argv)
{
	char real[MAXPATHLEN];

	script_name = script;
	SG(options) |= SAPI_OPTION_NO_CHDIR;
	SG(request_info).argc = argc;
	SG(request_info).argv = argv;
	SG(request_info).path_translated = VCWD_REALPATH(script, real) ? strdup(real) : (char *) script;
	if (php_request_startup() == FAILURE) {
		return false;
	}
	first_resource = EG(regular_list).nNextFreeElement;
	hearth_prelude_begin();
	hearth_kept_begin();
	hearth_statements_hook();
	hearth_properties_hook();
	hearth_modules_before_boot();
	CG(skip_shebang) = 1;
	zend_register_bool_constant(ZEND_STRL("PHP_CLI_PROCESS_TITLE"), false, CONST_CS, 0);
	zend_is_auto_global(ZSTR_KNOWN(ZEND_STR_AUTOGLOBAL_SERVER));
	PG(during_request_startup) = 0;
	return true;
}

/* Resources opened before the script begins are not the script's: its own are numbered as under php. */
static void forget_resources(void)
{
	zend_ulong handle;

	ZEND_HASH_REVERSE_FOREACH_NUM_KEY(&EG(regular_list), handle) {
		if ((zend_long) handle >= first_resource) {
			zend_hash_index_del(&EG(regular_list), handle);
		}
	} ZEND_HASH_FOREACH_END();
	EG(regular_list).nNextFreeElement = first_resource;
}

/* `mode`: 'f' a file, 'r' code, '-' standard input, 'l' check the syntax. */
hearth_task *hearth_cli_task(const char *script, const char *code, char mode, void *owner)
{
	hearth_request_state *state;

	hearth_seal();
	forget_resources();
	hearth_begin_observers(SG(request_info).path_translated);
	state = hearth_request_state_new(NULL);
	script_task = hearth_task_new(HEARTH_JOB_SCRIPT, state);
	/* State that startup has made belongs to this task. */
	hearth_state_save(&script_task->saved, state);
	script_task->script = script;
	script_task->code = code;
	script_task->mode = mode;
	script_task->owner = owner;
	return script_task;
}

static bool open_script(hearth_task *task)
{
	FILE *file;

	if (task->mode == '-') {
		zend_stream_init_fp(&script_file, stdin, "Standard input code");
	} else {
		file = VCWD_FOPEN(task->script, "rb");
		if (!file) {
			php_printf("Could not open input file: %s\n", task->script);
			EG(exit_status) = 1;
			return false;
		}
		zend_stream_init_fp(&script_file, file, task->script);
	}
	script_file.primary_script = true;
	return true;
}

static void run_script(hearth_task *task)
{
	if (task->mode == 'r') {
		register_handle("STDIN", "php://stdin", "rb");
		register_handle("STDOUT", "php://stdout", "wb");
		register_handle("STDERR", "php://stderr", "wb");
		zend_eval_string_ex(task->code, NULL, "Command line code", 1);
		return;
	}
	if (!open_script(task)) {
		return;
	}
	if (task->mode == 'l') {
		bool good = php_lint_script(&script_file) == SUCCESS;

		zend_printf(good ? "No syntax errors detected in %s\n" : "Errors parsing %s\n", task->script);
		EG(exit_status) = good ? 0 : 255;
	} else {
		if (task->mode == 'f') {
			register_handle("STDIN", "php://stdin", "rb");
			register_handle("STDOUT", "php://stdout", "wb");
			register_handle("STDERR", "php://stderr", "wb");
		}
		php_execute_script(&script_file);
	}
	zend_destroy_file_handle(&script_file);
}

/* Runs on the task's stack: everything of a request that may wait. The rest is hearth_cli_finish. */
void hearth_script_run(hearth_task *task)
{
	zend_try {
		run_script(task);
	} zend_end_try();
	/* The script has ended, perhaps by a fatal error: shutdown functions may use the memory that it had, and the session. */
	HEARTH_FORGET_OUT_OF_MEMORY();
	hearth_session_call_forget(task);
	zend_try {
		hearth_on_join_children(false);
	} zend_end_try();
	if (EG(exception)) {
		hearth_report_exception();
	}
	if (task->request->deferred) {
		zend_try {
			hearth_run_deferred(task->request);
			hearth_on_join_children(false);
		} zend_end_try();
	}
	HEARTH_FORGET_OUT_OF_MEMORY();
	EG(flags) |= EG_FLAGS_IN_SHUTDOWN;
	hearth_shutdown_functions_ready();
	php_call_shutdown_functions();
	zend_try {
		zend_call_destructors();
	} zend_end_try();
	zend_try {
		php_output_end_all();
	} zend_catch {
		/* php_request_shutdown() ends output too, and would call the handler that failed. */
		OG(active) = OG(running) = NULL;
	} zend_end_try();
	/* Only now: destructors of values that they hold, and functions that destructors add, run or do not run as under php. */
	php_free_shutdown_functions();
}

/*
 * A task that still waits is never resumed, but it waits in the middle of C code that uses objects: pdo_pgsql's statement
 * points at a result that it has freed while its next one arrives. The engine must not free what such objects hold; the
 * end of the process does.
 */
static void leave_objects_to_waiting_tasks(void)
{
	zend_objects_store *store = &EG(objects_store);

	if (!hearth_task_others_wait(script_task)) {
		return;
	}
	for (uint32_t handle = 1; handle < store->top; handle++) {
		zend_object *object = store->object_buckets[handle];

		if (IS_OBJ_VALID(object)) {
			GC_ADD_FLAGS(object, IS_OBJ_FREE_CALLED);
		}
	}
}

/* Runs on the process's own stack again: ends the request and the engine. Returns the exit code. */
int hearth_cli_finish(void)
{
	int status;

	hearth_state_load(&script_task->saved, script_task->request);
	leave_objects_to_waiting_tasks();
	hearth_shutdown_functions_ready();
	php_request_shutdown(NULL);
	hearth_kept_forget();
	status = EG(exit_status);
	php_module_shutdown();
	sapi_shutdown();
	return status;
}
