/*
 * $_GET, $_POST, $_COOKIE, $_SERVER, $_FILES, $_REQUEST and $_SESSION of a request, made by PHP's own parsers at their first
 * use, which request/first_use.c notices.
 */
#include "mode/mode.h"
#include "engine/engine.h"
#include "request/request.h"
#include "task/no_suspend.h"

enum { GET, POST, COOKIE, SERVER, FILES, REQUEST, SESSION };

static zend_string *names[HEARTH_SUPERGLOBALS];
static const char *const name_list[HEARTH_SUPERGLOBALS] = {
	"_GET", "_POST", "_COOKIE", "_SERVER", "_FILES", "_REQUEST", "_SESSION",
};
/* Whether the app is booted, in a worker. */
static bool sealed;
/* The state whose values are in the symbol table now. */
static hearth_request_state *live_state;

static zval *slot(int i)
{
	return zend_hash_find_known_hash(&EG(symbol_table), names[i]);
}

static void put(int i, zval *value)
{
	zend_hash_update(&EG(symbol_table), names[i], value);
}

/*
 * C code calls zend_is_auto_global() for a superglobal that is not an array, and then reads it as one. An undefined one is
 * made for a request (see on_auto_global); outside of requests, the array that it points to is empty.
 */
static void undefine_tracked(void)
{
	for (int i = 0; i < NUM_TRACK_VARS; i++) {
		if (i != TRACK_VARS_ENV) {
			ZVAL_EMPTY_ARRAY(&PG(http_globals)[i]);
			Z_TYPE_INFO(PG(http_globals)[i]) = IS_UNDEF;
		}
	}
}

void hearth_superglobals_clear(void)
{
	/* The first, because destructors of its objects may use the others. */
	zend_hash_del(&EG(symbol_table), names[SESSION]);
	for (int i = 0; i < HEARTH_SUPERGLOBALS; i++) {
		zval empty;

		if (i != SESSION) {
			ZVAL_EMPTY_ARRAY(&empty);
			put(i, &empty);
		}
	}
	hearth_env_clear();
	for (int i = 0; i < NUM_TRACK_VARS; i++) {
		if (i != TRACK_VARS_ENV) {
			zval_ptr_dtor(&PG(http_globals)[i]);
		}
	}
	undefine_tracked();
	live_state = NULL;
}

/* Moves the values out without touching their reference counts. */
void hearth_superglobals_save(hearth_request_state *state)
{
	for (int i = 0; i < HEARTH_SUPERGLOBALS; i++) {
		zval *value = slot(i);

		if (!value) {
			ZVAL_UNDEF(&state->superglobals[i]);
			continue;
		}
		ZVAL_COPY_VALUE(&state->superglobals[i], value);
		ZVAL_EMPTY_ARRAY(value);
		if (i == SESSION) {
			zend_hash_del(&EG(symbol_table), names[i]);
		}
	}
	hearth_env_save(state);
	memcpy(state->http_globals, PG(http_globals), sizeof PG(http_globals));
	undefine_tracked();
	live_state = NULL;
}

void hearth_superglobals_load(hearth_request_state *state)
{
	zval env;

	for (int i = 0; i < HEARTH_SUPERGLOBALS; i++) {
		if (Z_TYPE(state->superglobals[i]) != IS_UNDEF) {
			put(i, &state->superglobals[i]);
		} else {
			zend_hash_del(&EG(symbol_table), names[i]);
		}
	}
	hearth_env_load(state);
	ZVAL_COPY_VALUE(&env, &PG(http_globals)[TRACK_VARS_ENV]);
	memcpy(PG(http_globals), state->http_globals, sizeof PG(http_globals));
	ZVAL_COPY_VALUE(&PG(http_globals)[TRACK_VARS_ENV], &env);
	live_state = state;
}

/* ---- filling them ---- */

static void copy_strings(void *request)
{
	hearth_request_head head;
	hearth_str value, type, query;
	int64_t length;
	sapi_request_info *info = &SG(request_info);

	if (info->request_method) {
		return;
	}
	hearth_on_head(request, &head);
	info->request_method = estrndup(head.method.ptr, head.method.len);
	/* Without the query, as other SAPIs have it here; $_SERVER['REQUEST_URI'] has both. */
	info->request_uri = estrndup(head.target.ptr, head.target.len);
	info->request_uri[strcspn(info->request_uri, "?")] = '\0';
	query = hearth_query_string(&head);
	info->query_string = estrndup(query.len ? query.ptr : "", query.len);
	hearth_on_content(request, &type, &length);
	info->content_type = type.len ? estrndup(type.ptr, type.len) : NULL;
	info->content_length = length < 0 ? 0 : (zend_long) length;
	info->proto_num = head.protocol_number;
	info->headers_only = head.method.len == 4 && memcmp(head.method.ptr, "HEAD", 4) == 0;
	if (hearth_on_header(request, (hearth_str){"cookie", 6}, &value)) {
		info->cookie_data = estrndup(value.ptr, value.len);
	}
	if (hearth_on_header(request, (hearth_str){"authorization", 13}, &value)) {
		char *line = estrndup(value.ptr, value.len);
		php_handle_auth_data(line);
		efree(line);
	}
}

/* Fills request_info, which Request::form() and php://input need too. */
void hearth_request_info_need(void)
{
	if (SG(server_context)) {
		copy_strings(SG(server_context));
	}
}

/* The functions that php_hash_environment() calls; it would also begin $_ENV anew. */
static bool (*makers[HEARTH_SUPERGLOBALS])(zend_string *name);

static void make(int i)
{
	makers[i](names[i]);
}

static void forget_tracked(int i)
{
	zval_ptr_dtor(&PG(http_globals)[i]);
	ZVAL_UNDEF(&PG(http_globals)[i]);
}

/*
 * The engine parses a form only before the head is sent; here that may come after. SG(headers_sent) is shared by all tasks
 * of the request, and this task may wait for the body.
 */
static void make_post(bool with_body)
{
	zval *post = &PG(http_globals)[TRACK_VARS_POST];

	if (with_body && PG(variables_order) && strpbrk(PG(variables_order), "pP")) {
		sapi_module.treat_data(PARSE_POST, NULL, NULL);
	} else {
		zval_ptr_dtor(post);
		array_init(post);
	}
	Z_TRY_ADDREF_P(post);
	put(POST, post);
}

/* Makes what the head contains; what the body contains is empty for now. */
static void make_head(hearth_request_state *state)
{
	hearth_section *section = hearth_section_enter(__builtin_frame_address(0));
	zval handler;

	hearth_error_handler_put_away(&handler);
	live_state = state;
	state->superglobals_live = true;
	copy_strings(state->request);
	state->body_due = false;
	make(GET);
	make(COOKIE);
	make(SERVER);
	make_post(false);
	forget_tracked(TRACK_VARS_FILES);
	make(FILES);
	make(REQUEST);
	state->body_due = hearth_form_is_due();
	hearth_error_handler_put_back(&handler);
	hearth_section_leave(section);
}

/* Background work has the variables for itself, although nothing is in them before it writes to them. */
static void make_empty(hearth_request_state *state)
{
	live_state = state;
	state->superglobals_live = true;
}

/* Makes what the body contains. Waits for it. */
static void make_form(hearth_request_state *state)
{
	hearth_upload_progress_begin(state);
	forget_tracked(TRACK_VARS_FILES);
	array_init(&PG(http_globals)[TRACK_VARS_FILES]);
	make_post(true);
	make(FILES);
	make(REQUEST);
}

static void need_form(hearth_request_state *state, bool form)
{
	zval handler;

	if (state->body_reader == hearth_current || EG(exception) || !hearth_form_is_readable(state, form)
			|| !hearth_body_lock(state)) {
		return;
	}
	hearth_error_handler_put_away(&handler);
	/* Meanwhile another task may have parsed the body, or failed to. */
	if (state->body_due && hearth_form_is_readable(state, form) && hearth_form_prepare(state)) {
		make_form(state);
		hearth_form_parsed(state);
	}
	hearth_error_handler_put_back(&handler);
	hearth_body_unlock(state);
}

/*
 * Makes the superglobals. Where the task must not be left, such as in an autoloader, a body that has not arrived yet is left
 * out and read at the next use; or refused with an exception if `form`, the content of the body, is asked for.
 */
void hearth_superglobals_need(bool form)
{
	hearth_request_state *state = hearth_current_request();

	if (!state || !state->request) {
		if (state && sealed) {
			make_empty(state);
		}
		return;
	}
	if (live_state == state && !state->body_due) {
		if (form) {
			hearth_body_is_broken(state);
		}
		return;
	}
	if (live_state != state) {
		make_head(state);
	}
	if (state->body_due) {
		need_form(state, form);
	} else if (form) {
		hearth_body_is_broken(state);
	}
}

/* C code that reads a superglobal calls this first, and so does the compiler. Always armed once the app is booted. */
static bool on_auto_global(zend_string *name)
{
	for (int i = 0; i < SESSION && !sealed; i++) {
		if (zend_string_equals(name, names[i])) {
			return makers[i](name);
		}
	}
	hearth_superglobals_need(false);
	return true;
}

void hearth_superglobals_hook(void)
{
	hearth_first_use_hook();
	hearth_cookies_hook();
	hearth_upload_progress_hook();
	for (int i = 0; i < HEARTH_SUPERGLOBALS; i++) {
		zend_auto_global *global;

		names[i] = zend_string_init_interned(name_list[i], strlen(name_list[i]), 1);
		/* The strings that opcache interns have no hash yet. */
		zend_string_hash_val(names[i]);
		global = zend_hash_find_ptr(CG(auto_globals), names[i]);
		if (i != SESSION && global) {
			makers[i] = global->auto_global_callback;
			global->auto_global_callback = on_auto_global;
		}
	}
}

void hearth_superglobals_seal(void)
{
	zend_is_auto_global_str(ZEND_STRL("_SERVER"));
	zend_is_auto_global_str(ZEND_STRL("_ENV"));
	hearth_env_seal();
	hearth_server_variables_seal(slot(SERVER));
	hearth_superglobals_clear();
	sealed = true;
	for (int i = 0; i < SESSION; i++) {
		zend_auto_global *global = zend_hash_find_ptr(CG(auto_globals), names[i]);

		global->armed = true;
	}
}
