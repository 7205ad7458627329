/*
 * $_GET, $_POST, $_COOKIE, $_SERVER, $_FILES, $_REQUEST and $_SESSION of a request, made when they are first touched.
 *
 * The compiler turns `$_GET['a']` into a FETCH opcode with the "global" flag. We watch those opcodes with user opcode
 * handlers: a handler that never names a superglobal pays nothing, one that does gets them filled by PHP's own parsers
 * at that moment.
 */
#include "task.h"

static zend_string *names[HEARTH_SUPERGLOBALS];
static const char *const name_list[HEARTH_SUPERGLOBALS] = {
	"_GET", "_POST", "_COOKIE", "_SERVER", "_FILES", "_REQUEST", "_SESSION",
};
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

void hearth_superglobals_clear(void)
{
	for (int i = 0; i < HEARTH_SUPERGLOBALS; i++) {
		zval empty;

		if (i == HEARTH_SUPERGLOBALS - 1) {
			zend_hash_del(&EG(symbol_table), names[i]);
			continue;
		}
		ZVAL_EMPTY_ARRAY(&empty);
		put(i, &empty);
	}
	for (int i = 0; i < NUM_TRACK_VARS; i++) {
		if (i != TRACK_VARS_ENV) {
			zval_ptr_dtor(&PG(http_globals)[i]);
			ZVAL_UNDEF(&PG(http_globals)[i]);
		}
	}
	live_state = NULL;
}

/* Take the values out without touching their reference counts. */
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
		if (i == HEARTH_SUPERGLOBALS - 1) {
			zend_hash_del(&EG(symbol_table), names[i]);
		}
	}
	memcpy(state->http_globals, PG(http_globals), sizeof PG(http_globals));
	for (int i = 0; i < NUM_TRACK_VARS; i++) {
		if (i != TRACK_VARS_ENV) {
			ZVAL_UNDEF(&PG(http_globals)[i]);
		}
	}
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
	ZVAL_COPY_VALUE(&env, &PG(http_globals)[TRACK_VARS_ENV]);
	memcpy(PG(http_globals), state->http_globals, sizeof PG(http_globals));
	ZVAL_COPY_VALUE(&PG(http_globals)[TRACK_VARS_ENV], &env);
	live_state = state;
}

/* ---- filling them ---- */

/* Is there a body that the engine would have read before the script began? */
static bool is_body_due(void)
{
	return SG(request_info).content_type && SG(request_info).request_method
		&& strcmp(SG(request_info).request_method, "POST") == 0
		&& !SG(request_info).request_body && !SG(read_post_bytes) && PG(enable_post_data_reading);
}

/*
 * What sapi_activate() does for a request with a body, but when the body is asked for: find the parser for its type
 * and let that read it.
 */
static void prepare_post(void)
{
	sapi_post_entry *entry;
	char *type = estrdup(SG(request_info).content_type);
	size_t len = strcspn(type, ";, ");

	zend_str_tolower(type, len);
	entry = zend_hash_str_find_ptr(&SG(known_post_content_types), type, len);
	SG(request_info).content_type_dup = type;
	SG(request_info).post_entry = entry;
	if (entry && entry->post_reader) {
		entry->post_reader();
	}
	if (sapi_module.default_post_reader && !(entry && entry->post_reader)) {
		sapi_module.default_post_reader();
	}
}

static void copy_strings(void *request)
{
	hearth_request_head head;
	hearth_str value, type;
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
	info->query_string = estrndup(head.query.ptr ? head.query.ptr : "", head.query.len);
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

/* Fill request_info (Request::form() and php://input need it too). */
void hearth_request_info_need(void)
{
	if (SG(server_context)) {
		copy_strings(SG(server_context));
	}
}

/* Without the body, the form is empty for now. */
static void make_all(bool with_body)
{
	unsigned char headers_sent = SG(headers_sent);
	zval env;

	/* The engine parses a POST only before the head was sent; here that may come after. */
	SG(headers_sent) = !with_body;
	ZVAL_COPY_VALUE(&env, &PG(http_globals)[TRACK_VARS_ENV]);
	ZVAL_UNDEF(&PG(http_globals)[TRACK_VARS_ENV]);
	php_hash_environment();
	ZVAL_COPY_VALUE(&PG(http_globals)[TRACK_VARS_ENV], &env);
	zend_is_auto_global_str(ZEND_STRL("_SERVER"));
	zend_is_auto_global_str(ZEND_STRL("_REQUEST"));
	SG(headers_sent) = headers_sent;
}

static void make(const char *name, size_t length)
{
	zend_auto_global *global = zend_hash_str_find_ptr(CG(auto_globals), name, length);

	global->auto_global_callback(global->name);
}

/* What depends on the body, once that has come. */
static void make_form(void)
{
	unsigned char headers_sent = SG(headers_sent);
	zval *files = &PG(http_globals)[TRACK_VARS_FILES];

	SG(headers_sent) = 0;
	zval_ptr_dtor(files);
	ZVAL_UNDEF(files);
	make(ZEND_STRL("_POST"));
	make(ZEND_STRL("_FILES"));
	make(ZEND_STRL("_REQUEST"));
	SG(headers_sent) = headers_sent;
}

/*
 * Where the task must not be left, such as in an autoloader, a body that has not come yet is left out, to be read at the
 * next use; or refused with an exception if `form`, what is in it, is asked for.
 */
void hearth_superglobals_need(bool form)
{
	hearth_request_state *state = hearth_current_request();
	bool fresh, due, readable;

	if (!state || !state->request || (live_state == state && !state->body_due)) {
		return;
	}
	fresh = live_state != state;
	if (fresh) {
		live_state = state;
		state->superglobals_live = true;
		copy_strings(state->request);
		state->body_due = is_body_due();
	}
	readable = !state->body_due || hearth_may_leave() || hearth_on_body_arrived(state->request);
	if (!readable && form) {
		hearth_refuse_wait();
	}
	due = state->body_due && readable;
	if (due) {
		state->body_due = false;
		prepare_post();
	}
	if (fresh) {
		make_all(readable);
	} else if (due) {
		make_form();
	}
}

/* ---- noticing the first use ---- */

/* $_POST, $_FILES, $_REQUEST */
static bool is_of_form(const char *name)
{
	return name[1] == 'P' || name[1] == 'F' || name[1] == 'R';
}

/* The body could not be waited for. The engine frees the result of an opcode that throws. */
static int thrown(zend_execute_data *frame, const zend_op *opline)
{
	if (opline->result_type & (IS_VAR | IS_TMP_VAR)) {
		ZVAL_UNDEF(ZEND_CALL_VAR(frame, opline->result.var));
	}
	return ZEND_USER_OPCODE_CONTINUE;
}

static int on_fetch(zend_execute_data *frame)
{
	const zend_op *opline = frame->opline;

	if ((opline->extended_value & (ZEND_FETCH_GLOBAL | ZEND_FETCH_LOCAL | ZEND_FETCH_GLOBAL_LOCK)) == ZEND_FETCH_GLOBAL
			&& opline->op1_type == IS_CONST) {
		zval *name = RT_CONSTANT(opline, opline->op1);

		if (Z_TYPE_P(name) == IS_STRING && Z_STRVAL_P(name)[0] == '_') {
			hearth_superglobals_need(is_of_form(Z_STRVAL_P(name)));
			if (UNEXPECTED(EG(exception))) {
				return thrown(frame, opline);
			}
		}
	}
	return ZEND_USER_OPCODE_DISPATCH;
}

/* Functions of PHP that read superglobals without an opcode. The first few want nothing of the body. */
#define HEADER_READERS 2
static const char *const readers[] = {"session_start", "phpinfo", "filter_input", "filter_input_array", "filter_has_var", "request_parse_body", NULL};
static zif_handler reader_handlers[8];
static zend_function *reader_functions[8];

static void on_reader(INTERNAL_FUNCTION_PARAMETERS)
{
	for (int i = 0; readers[i]; i++) {
		if (EX(func) == reader_functions[i]
				|| (reader_functions[i] && zend_string_equals(EX(func)->common.function_name, reader_functions[i]->common.function_name))) {
			hearth_superglobals_need(i >= HEADER_READERS);
			if (!EG(exception)) {
				reader_handlers[i](INTERNAL_FUNCTION_PARAM_PASSTHRU);
			}
			return;
		}
	}
}

void hearth_superglobals_hook(void)
{
	static const zend_uchar opcodes[] = {
		ZEND_FETCH_R, ZEND_FETCH_W, ZEND_FETCH_RW, ZEND_FETCH_IS, ZEND_FETCH_FUNC_ARG, ZEND_FETCH_UNSET,
		/* empty() and unset() of the whole */
		ZEND_ISSET_ISEMPTY_VAR, ZEND_UNSET_VAR,
	};

	for (size_t i = 0; i < sizeof opcodes; i++) {
		zend_set_user_opcode_handler(opcodes[i], on_fetch);
	}
	for (int i = 0; readers[i]; i++) {
		zend_function *function = zend_hash_str_find_ptr(CG(function_table), readers[i], strlen(readers[i]));

		if (function) {
			reader_functions[i] = function;
			reader_handlers[i] = function->internal_function.handler;
			function->internal_function.handler = on_reader;
		}
	}
	for (int i = 0; i < HEARTH_SUPERGLOBALS; i++) {
		names[i] = zend_string_init_interned(name_list[i], strlen(name_list[i]), 1);
	}
}

void hearth_superglobals_seal(void)
{
	zend_is_auto_global_str(ZEND_STRL("_SERVER"));
	zend_is_auto_global_str(ZEND_STRL("_ENV"));
	/* Or else opcache has it made, of what there is not yet, when it loads a file that another worker has compiled. */
	zend_is_auto_global_str(ZEND_STRL("_REQUEST"));
	hearth_server_variables_seal(zend_hash_find_known_hash(&EG(symbol_table), names[3]));
	hearth_superglobals_clear();
}
