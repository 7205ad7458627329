/* Saves, loads, makes and ends the state that is private to a task or a request. state/task_state.h has the list. */
#include "cache/cache.h"
#include "engine/engine.h"
#include "state/local_symbols.h"
#include "state/match_data.h"
#include "state/ini_settings.h"
#include "task/sqlite.h"

#define HEARTH_SAVE(live, type, field) into->field = live;
#define HEARTH_LOAD(live, type, field) live = from->field;

/* The state that a new task and a new request begin with: that of the end of boot. */
static hearth_task_state fresh_task;
static hearth_request_state fresh_request;
static hearth_request_state *free_states;
int hearth_error_reporting;

/* The pointer stays live until the next request is loaded: code that reads it meanwhile must not find freed memory. */
#define HEARTH_FREE(place) \
	if (place) { \
		efree((void *) place); \
		place = NULL; \
	}

#define HEARTH_RELEASE(place) \
	if (UNEXPECTED(place)) { \
		zend_string_release(place); \
		place = NULL; \
	}

static void save_task_fields(hearth_task_state *into) { HEARTH_TASK_FIELDS(HEARTH_SAVE) }
static void load_task_fields(const hearth_task_state *from) { HEARTH_TASK_FIELDS(HEARTH_LOAD) }
static void save_request_fields(hearth_request_state *into) { HEARTH_REQUEST_FIELDS(HEARTH_SAVE) }
static void load_request_fields(const hearth_request_state *from) { HEARTH_REQUEST_FIELDS(HEARTH_LOAD) }

static void free_header(void *header)
{
	efree(((sapi_header_struct *) header)->header);
}

static void seal_timezone(void);

static void seal_ranges(void)
{
	/* This opens a directory, and with that makes the default stream context. */
	hearth_last_directory();
	hearth_autoload_suffixes();
	hearth_openssl_errors_seal();
	hearth_match_data_seal();
	php_clear_stat_cache(0, NULL, 0);
	hearth_boot_settings_seal();
	hearth_engine_ranges_add();
	hearth_modules_seal();
	hearth_ranges_seal();
}

/* Makes the state that boot left the one that each request begins with. */
void hearth_state_seal(bool cli)
{
	if (!cli) {
		seal_timezone();
		hearth_ini_seal();
	}
	hearth_session_seal(cli);
	hearth_loading_seal();
	if (!cli) {
		hearth_superglobals_seal();
	}
	hearth_error_reporting = EG(error_reporting);
	HEARTH_RELEASE(BG(strtok_string))
	seal_ranges();
	save_task_fields(&fresh_task);
	memset(&fresh_task.output, 0, sizeof fresh_task.output);
	fresh_task.exit_status = 0;
	save_request_fields(&fresh_request);
	memset(&fresh_request.request_info, 0, sizeof fresh_request.request_info);
	fresh_request.request_info.proto_num = 1001;
	fresh_request.server_context = NULL;
	fresh_request.headers_sent = 0;
	fresh_request.sapi_headers.http_response_code = 200;
	fresh_request.shutdown_functions = NULL;
	fresh_request.last_error_message = NULL;
	fresh_request.last_error_file = NULL;
	fresh_request.last_error_type = 0;
	zend_stack_init(&fresh_request.error_handlers_reporting, sizeof(int));
	zend_stack_init(&fresh_request.error_handlers, sizeof(zval));
	zend_stack_init(&fresh_request.exception_handlers, sizeof(zval));
	ZVAL_UNDEF(&fresh_request.header_callback);
	zend_llist_init(&fresh_request.sapi_headers.headers, sizeof(sapi_header_struct), free_header, 0);
	/* Until the head is committed, echo must not send headers and header() must work: see request/response.c. */
	fresh_request.request_info.no_headers = true;
}

hearth_request_state *hearth_request_state_new(void *request)
{
	hearth_request_state *state = free_states;

	if (state) {
		free_states = state->next_free;
	} else {
		state = pecalloc(1, sizeof *state, 1);
	}
	state->fresh = true;
	state->released = state->unheard = false;
	state->request = request;
	state->tasks = 1;
	return state;
}

static void free_request_info(sapi_request_info *info)
{
	HEARTH_FREE(info->content_type_dup)
	HEARTH_FREE(info->auth_user)
	HEARTH_FREE(info->auth_password)
	HEARTH_FREE(info->auth_digest)
	HEARTH_FREE(info->current_user)
	HEARTH_FREE(info->query_string)
	HEARTH_FREE(info->request_uri)
	HEARTH_FREE(info->cookie_data)
	HEARTH_FREE(info->content_type)
	HEARTH_FREE(info->request_method)
	/* An open php://input stream is a resource of its own and closes with its last handle. */
}

static void free_headers(sapi_headers_struct *headers)
{
	if (headers->headers.count) { zend_llist_destroy(&headers->headers); }
	HEARTH_FREE(headers->mimetype)
	HEARTH_FREE(headers->http_status_line)
}

static void free_last_error(zend_string **message, zend_string **file)
{
	HEARTH_RELEASE(*message)
	HEARTH_RELEASE(*file)
}

static void free_fields(hearth_request_state *state)
{
	free_request_info(&state->request_info);
	free_headers(&state->sapi_headers);
	free_last_error(&state->last_error_message, &state->last_error_file);
}

/* Called when the state is not live; unless it is broken, hearth_request_end has released what could run PHP code. */
void hearth_request_state_free(hearth_request_state *state)
{
	/* Another request gets this memory. */
	hearth_sqlite_forget(state);
	hearth_cache_locks_forget(state);
	hearth_ini_free(state);
	if (!state->fresh && !state->released) {
		free_fields(state);
	}
	hearth_session_free(state);
	if (state->ranges) { hearth_ranges_free(state->ranges); }
	if (state->request) { hearth_on_request_release(state->request); }
	smart_str_free(&state->output.kept);
	state->ranges = NULL;
	state->request = NULL;
	/* Only leftovers of orphans are still here, and cannot be freed here. The next request must not find them. */
	state->request_object = NULL;
	state->deferred = NULL;
	ZVAL_UNDEF(&state->locals);
	state->output = (hearth_output){0};
	state->superglobals_live = state->responded = state->failed = false;
	state->continues = state->orphans = state->body_due = state->ignores_client = false;
	state->changes_process = false;
	state->ends = state->refusals = 0;
	state->body_failed = 0;
	state->body_broken = false;
	state->body_reader = NULL;
	state->body_waiters = 0;
	state->next_free = free_states;
	free_states = state;
}

void hearth_task_state_init(hearth_task_state *state)
{
	state->fresh = true;
}

/* Makes a time zone that was set while the app was booted every request's default. */
static void seal_timezone(void)
{
	zend_module_entry *module = zend_hash_str_find_ptr(&module_registry, ZEND_STRL("date"));
	zend_date_globals *date = module ? module->globals_ptr : NULL;
	zend_string *name, *value;

	if (!date || !date->timezone) {
		return;
	}
	name = zend_string_init(ZEND_STRL("date.timezone"), 0);
	value = zend_string_init(date->timezone, strlen(date->timezone), 0);
	zend_alter_ini_entry(name, value, ZEND_INI_SYSTEM, ZEND_INI_STAGE_RUNTIME);
	zend_string_release(name);
	zend_string_release(value);
	efree(date->timezone);
	date->timezone = NULL;
}

/*
 * ---- exchange ----
 *
 * A fatal error between two tasks cannot be handled: memory is allocated outside of the heap that has a limit.
 */

void hearth_state_save(hearth_task_state *task, hearth_request_state *request)
{
	int error_reporting = EG(error_reporting);

	if (task) {
		hearth_openssl_errors_keep();
		save_task_fields(task);
		/* Handlers of settings and chdir() run until the next task is loaded, and would clear it or take it for their own. */
		EG(exception) = EG(prev_exception) = NULL;
		task->fresh = false;
		task->ranges = UNEXPECTED(hearth_ranges_changed(HEARTH_SCOPE_TASK)) ? hearth_ranges_save(HEARTH_SCOPE_TASK) : NULL;
		task->match_data = UNEXPECTED(*hearth_match_data_used) ? hearth_match_data_take() : NULL;
	}
	if (!request) {
		return;
	}
	if (UNEXPECTED(hearth_ranges_changed(HEARTH_SCOPE_REQUEST))) {
		request->ranges = hearth_ranges_save(HEARTH_SCOPE_REQUEST);
	}
	hearth_session_save(request);
	if (UNEXPECTED(EG(modified_ini_directives))) {
		hearth_ini_save(request);
		hearth_ini_undo_in_ranges();
	}
	save_request_fields(request);
	request->fresh = false;
	if (UNEXPECTED(request->superglobals_live)) {
		hearth_superglobals_save(request);
	}
	EG(error_reporting) = error_reporting;
}

/* Ends what functions of the engine keep from call to call. After a fatal error its memory is left alone. */
void hearth_task_state_end(bool broken)
{
	hearth_openssl_errors_drop();
	if (UNEXPECTED(hearth_ranges_changed(HEARTH_SCOPE_TASK))) {
		if (broken) {
			hearth_ranges_forget(HEARTH_SCOPE_TASK);
		} else {
			hearth_ranges_release(HEARTH_SCOPE_TASK);
		}
	}
	if (!broken) {
		HEARTH_RELEASE(BG(strtok_string))
	}
}

/* False if a destructor that hearth_request_end() called has made new state. */
static bool is_left_as_found(hearth_request_state *request)
{
	return !EG(modified_ini_directives) && !request->superglobals_live && !hearth_session_in_use();
}

void hearth_state_end(hearth_request_state *request)
{
	if (UNEXPECTED(request->tasks > 1) || UNEXPECTED(!is_left_as_found(request))) {
		hearth_state_save(NULL, request);
		return;
	}
	free_request_info(&SG(request_info));
	free_headers(&SG(sapi_headers));
	free_last_error(&PG(last_error_message), &PG(last_error_file));
	request->released = true;
}

/* Loads a request that has not run: it has only the state that all requests begin with. */
static void load_fresh(hearth_request_state *request)
{
	load_request_fields(&fresh_request);
	SG(server_context) = request->request;
	Z_TRY_ADDREF(EG(user_error_handler));
	Z_TRY_ADDREF(EG(user_exception_handler));
	hearth_error_handler_begin(request);
	request->fresh = false;
}

static void load_kept(hearth_request_state *request)
{
	int error_reporting = EG(error_reporting);

	if (UNEXPECTED(request->superglobals_live)) {
		hearth_superglobals_load(request);
	}
	load_request_fields(request);
	if (UNEXPECTED(request->modified_ini)) {
		hearth_ini_load(request);
		hearth_ini_undo_in_ranges();
	}
	if (UNEXPECTED(request->ranges)) {
		hearth_ranges_load(HEARTH_SCOPE_REQUEST, request->ranges);
		request->ranges = NULL;
	}
	hearth_session_load(request);
	EG(error_reporting) = error_reporting;
}

void hearth_state_load(const hearth_task_state *task, hearth_request_state *request)
{
	if (request && request->fresh) {
		load_fresh(request);
	} else if (request) {
		load_kept(request);
	}
	load_task_fields(task->fresh ? &fresh_task : task);
	if (UNEXPECTED(!task->fresh && task->ranges)) {
		hearth_ranges_load(HEARTH_SCOPE_TASK, task->ranges);
	}
	if (UNEXPECTED(!task->fresh && task->match_data)) {
		hearth_match_data_put_back(task->match_data);
	}
}
