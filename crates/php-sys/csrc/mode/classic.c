/*
 * Classic mode: one request is one life of the engine, from php_request_startup to php_request_shutdown, as under
 * php-fpm. Only opcache survives a request.
 *
 * It runs on a stack of its own all the same, so that reading a body, sending to a slow client and the hooked calls
 * wait without blocking the thread: other connections go on. There is one such stack, and one request at a time on it.
 *
 * The engine makes a fiber context for the code outside of Fibers at each request startup and frees it at shutdown.
 * During a request, that context represents our stack; before and after, the task's own context does.
 */
#include "cache/cache.h"
#include "engine/engine.h"
#include "engine/intercept.h"
#include "mode/mode.h"
#include "request/request.h"
#include "task/no_suspend.h"
#include "mode/classic_arginfo.h"

/* The stack of a php-fpm child is 8 MiB; only pages that are touched take memory. */
#define CLASSIC_STACK (16 * 1024 * 1024)

static hearth_task task = { .job = HEARTH_JOB_CLASSIC };
/* The context of the process's own stack, between requests. */
static zend_fiber_context outside = { .status = ZEND_FIBER_STATUS_RUNNING };
static char classic_kind;

/* The running request. */
static void *request;
static hearth_script script;
static hearth_output output;
/* Whether the request is being shut down. */
static bool ending;
bool hearth_classic_body_failed;

/* Returns NULL in the other modes. */
const hearth_script *hearth_classic_script(void)
{
	return hearth_current == &task ? &script : NULL;
}

hearth_str hearth_query_string(const hearth_request_head *head)
{
	const hearth_script *classic = hearth_classic_script();

	return classic && classic->has_query ? classic->query : head->query;
}

/* ---- the response ---- */

/* The status line of this request, set once PHP considers the head sent. */
static char *status_line;

void hearth_classic_keep_status_line(const char *line)
{
	if (status_line) {
		efree(status_line);
	}
	status_line = estrdup(line);
}

static void respond(hearth_response *response)
{
	response->cgi = true;
	response->status = hearth_output_status();
	if (status_line) {
		response->status_line = (hearth_str){status_line, strlen(status_line)};
	}
	hearth_output_head(SG(server_context), response, NULL);
}

static void stream(void)
{
	hearth_response response = { .kind = HEARTH_BODY_STREAM, .more = true };

	if (!output.streaming) {
		output.streaming = true;
		respond(&response);
	}
	hearth_output_send(&output, SG(server_context));
}

/* Sends the rest of the response, and its end. */
static void finish(void)
{
	hearth_response response = { .kind = HEARTH_BODY_FULL, .body = hearth_output_kept(&output) };

	if (output.finished) {
		return;
	}
	output.finished = true;
	if (output.streaming) {
		hearth_on_finish(SG(server_context), response.body);
	} else {
		respond(&response);
	}
	smart_str_free(&output.kept);
}

/* ---- the server API ---- */

static size_t write_output(const char *text, size_t length)
{
	if (output.finished) {
		return length;
	}
	if (hearth_output_keep(&output, text, length)) {
		stream();
	}
	if (output.gone) {
		php_handle_aborted_connection();
	}
	return length;
}

static void flush_output(void *context)
{
	(void) context;
	if (!output.finished && !ending && SG(headers_sent)) {
		stream();
		hearth_let_send();
		if (output.gone) {
			php_handle_aborted_connection();
		}
	}
}

/* getenv() sees the variables that a CGI program would find in its environment. */
static char *get_env(const char *name, size_t length)
{
	zval *server = &PG(http_globals)[TRACK_VARS_SERVER], *value;

	zend_is_auto_global(ZSTR_KNOWN(ZEND_STR_AUTOGLOBAL_SERVER));
	if (Z_TYPE_P(server) != IS_ARRAY) {
		return NULL;
	}
	value = zend_hash_str_find(Z_ARRVAL_P(server), name, length);
	if (value && hearth_server_is_environment(name, length, value)) {
		/* putenv() may have changed the variable since. */
		return NULL;
	}
	return value && Z_TYPE_P(value) == IS_STRING ? estrndup(Z_STRVAL_P(value), Z_STRLEN_P(value)) : NULL;
}

/* The end of a request reads the rest of its body; here the connection does that. */
static size_t read_body(char *buffer, size_t length)
{
	return ending ? 0 : hearth_read_post(buffer, length);
}

/* bool fastcgi_finish_request(): completes the response; the script goes on. */
ZEND_FUNCTION(Hearth_fastcgi_finish_request)
{
	ZEND_PARSE_PARAMETERS_NONE();
	if (output.finished) {
		RETURN_FALSE;
	}
	php_output_end_all();
	php_header();
	finish();
	RETURN_TRUE;
}

/* Called after the extensions have ended the request, before the headers are cleared. */
static int post_deactivate(void)
{
	if (SG(server_context)) {
		finish();
	}
	return SUCCESS;
}

/* Called before the engine starts. */
void hearth_classic_prepare(zend_module_entry *module)
{
	module->functions = ext_functions;
	module->post_deactivate_func = post_deactivate;
	hearth_sapi.ub_write = write_output;
	hearth_sapi.flush = flush_output;
	hearth_sapi.activate = hearth_user_ini_activate;
	hearth_sapi.read_post = read_body;
	hearth_sapi.getenv = get_env;
	/* Signal handlers are set once, not at every request. */
	SIGG(reset) = 0;
}

/* ---- the working directory ---- */

/*
 * A script runs in its own directory, entered anew each time: since the last request another directory may have been moved to the
 * same path. Where it cannot be entered, the script does not run in that of the last request.
 */
static void enter_directory(void)
{
	const char *slash = strrchr(script.filename, '/');
	size_t length = slash ? (size_t) (slash - script.filename) : 0;
	char directory[MAXPATHLEN] = "/";

	if (length > 0 && length < sizeof directory) {
		memcpy(directory, script.filename, length);
		directory[length] = '\0';
	}
	if (chdir(directory) != 0) {
		php_ignore_value(chdir("/"));
	}
}

/* ---- one request ---- */

static void begin(void)
{
	hearth_cache_copies_between_requests();
	hearth_prelude_forget();
	EG(timeout_seconds) = 0;
	zend_atomic_bool_store_ex(&EG(timed_out), false);
	memset(&SG(request_info), 0, sizeof SG(request_info));
	SG(server_context) = request;
	SG(sapi_headers).http_response_code = 200;
	ending = hearth_classic_body_failed = false;
	/* The engine's memory of the last request has been freed. */
	output = (hearth_output){0};
	status_line = NULL;
	hearth_request_info_need();
	SG(request_info).path_translated = (char *) script.filename;
}

static void run_script(void)
{
	zend_file_handle file;

	enter_directory();
	hearth_on_cpu_limit(hearth_time_limit);
	zend_stream_init_filename(&file, script.filename);
	file.primary_script = true;
	CG(skip_shebang) = 1;
	php_execute_script(&file);
	zend_destroy_file_handle(&file);
}

static void serve(void)
{
	begin();
	if (php_request_startup() == SUCCESS) {
		HEARTH_SET_STACK_LIMITS(&task.context, hearth_stack_limit(&task.context));
		/* With only a part of the body in $_POST the script does not run: the response has the error. */
		zend_try {
			if (!hearth_classic_body_failed) {
				run_script();
			}
		} zend_end_try();
	} else {
		SG(sapi_headers).http_response_code = 500;
	}
	ending = true;
	hearth_shutdown_functions_ready();
	php_request_shutdown(NULL);
	hearth_process_state_restore_classic();
	hearth_session_locks_end(NULL);
	SG(server_context) = NULL;
	hearth_sections_forget_all();
	hearth_stack_trim(&task.context);
}

/* Runs at the bottom of the stack: serves a request, and when resumed, the next. */
static void entry(zend_fiber_transfer *transfer)
{
	(void) transfer;
	for (;;) {
		zend_fiber_transfer out = {0};

		serve();
		hearth_on_request_release(request);
		task.done = true;
		EG(current_fiber_context) = &task.context;
		out.context = &outside;
		ZVAL_NULL(&out.value);
		zend_fiber_switch_context(&out);
	}
}

static bool make_stack(void)
{
	size_t size;
	void *kept;

	if (!HEARTH_FIBER_INIT(&task.context, &classic_kind, entry, hearth_stack_size_for(CLASSIC_STACK))) {
		return false;
	}
	/* The engine describes the stack in memory that ends with each request; the stack stays. */
	size = zend_mem_block_size(task.context.stack);
	if (size > 0) {
		kept = pemalloc(size, 1);
		memcpy(kept, task.context.stack, size);
		efree(task.context.stack);
		task.context.stack = kept;
	}
	task.has_context = true;
	return true;
}

/* Called once, while the engine is up and no request is active. */
bool hearth_classic_begin(void)
{
	SG(options) |= SAPI_OPTION_NO_CHDIR;
	hearth_intercept_install_classic();
	hearth_overrides_begin();
	hearth_prelude_in_requests();
	return make_stack();
}

hearth_task *hearth_task_classic(void *owner, void *of_request, const hearth_script *of_script)
{
	request = of_request;
	script = *of_script;
	task.owner = owner;
	task.done = task.busy = task.fatal_pending = false;
	task.generation++;
	task.resume_at = &task.context;
	EG(current_fiber_context) = &outside;
	return &task;
}
