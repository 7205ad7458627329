/*
 * $_GET, $_POST, $_COOKIE, $_SERVER, $_FILES, $_REQUEST and $_SESSION of a request, made when they are first touched.
 *
 * The compiler turns `$_GET['a']` into a FETCH opcode with the "global" flag. We watch those opcodes with user opcode
 * handlers: a handler that never names a superglobal pays nothing, one that does gets them filled by PHP's own parsers
 * at that moment.
 */
#include "task.h"
#include "headers.h"

static zend_string *names[HEARTH_SUPERGLOBALS];
static const char *const name_list[HEARTH_SUPERGLOBALS] = {
	"_GET", "_POST", "_COOKIE", "_SERVER", "_FILES", "_REQUEST", "_SESSION",
};
/* $_SERVER as it was at the end of boot: the environment, and what the entry script (dotenv, say) put there. */
static zval boot_server;
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

/*
 * In classic mode through the input filter, as in every other SAPI: filter_input(INPUT_SERVER) knows what came by there.
 * A resident worker has no end of request at which the extension would forget it.
 */
static void set_variable(zval *server, const char *name, const char *value, size_t len)
{
	char *text = (char *) value;
	size_t new_len = len;

	if (!hearth_classic_script() || sapi_module.input_filter(PARSE_SERVER, name, &text, len, &new_len)) {
		php_register_variable_safe(name, text, new_len, server);
	}
}

static void cgi_name(smart_str *out, hearth_str header)
{
	smart_str_appendl(out, "HTTP_", 5);
	for (size_t i = 0; i < header.len; i++) {
		char c = header.ptr[i];
		smart_str_appendc(out, c == '-' ? '_' : (char) toupper((unsigned char) c));
	}
	smart_str_0(out);
}

static void register_headers(void *request, zval *server)
{
	hearth_header stack[64], *headers = stack;
	size_t count = hearth_on_headers(request, stack, 64);

	if (count > 64) {
		headers = safe_emalloc(count, sizeof *headers, 0);
		count = hearth_on_headers(request, headers, count);
	}
	for (size_t i = 0; i < count; i++) {
		smart_str name = {0};
		zval *known;

		/* httpoxy: a client must not be able to set HTTP_PROXY. */
		if (headers[i].name.len == 5 && strncasecmp(headers[i].name.ptr, "proxy", 5) == 0) {
			continue;
		}
		if (!hearth_header_is_plain(headers[i].name)) {
			continue;
		}
		cgi_name(&name, headers[i].name);
		known = zend_hash_find(Z_ARRVAL_P(server), name.s);
		if (known && Z_TYPE_P(known) == IS_STRING) {
			/* A header that came twice is joined, as every CGI server does. */
			zend_string *joined = zend_strpprintf(0, "%s%s%.*s", Z_STRVAL_P(known),
				strcmp(ZSTR_VAL(name.s), "HTTP_COOKIE") == 0 ? "; " : ", ",
				(int) headers[i].value.len, headers[i].value.ptr);
			set_variable(server, ZSTR_VAL(name.s), ZSTR_VAL(joined), ZSTR_LEN(joined));
			zend_string_release(joined);
		} else {
			set_variable(server, ZSTR_VAL(name.s), headers[i].value.ptr, headers[i].value.len);
		}
		smart_str_free(&name);
	}
	if (headers != stack) {
		efree(headers);
	}
}

static void set_str(zval *server, const char *name, hearth_str value)
{
	set_variable(server, name, value.ptr ? value.ptr : "", value.len);
}

static void set_port(zval *server, const char *name, int port)
{
	char text[16];
	size_t len = (size_t) slprintf(text, sizeof text, "%d", port);

	set_variable(server, name, text, len);
}

static void register_server_name(void *request, zval *server, hearth_str local)
{
	hearth_str host;

	if (hearth_on_header(request, (hearth_str){"host", 4}, &host) && host.len) {
		const char *colon = memrchr(host.ptr, ':', host.len);
		const char *bracket = memrchr(host.ptr, ']', host.len);

		if (colon && (!bracket || colon > bracket)) {
			host.len = (size_t) (colon - host.ptr);
		}
		set_str(server, "SERVER_NAME", host);
	} else {
		set_str(server, "SERVER_NAME", local);
	}
}

static void set_joined(zval *server, const char *name, hearth_str a, hearth_str b)
{
	zend_string *joined = zend_string_concat2(a.ptr, a.len, b.len ? b.ptr : "", b.len);

	set_str(server, name, (hearth_str){ZSTR_VAL(joined), ZSTR_LEN(joined)});
	zend_string_release(joined);
}

/* A resident app has no script per path: the whole path is its own. In classic mode as php-fpm behind nginx has it. */
static void register_script(zval *server, hearth_str path)
{
	const hearth_script *script = hearth_classic_script();

	if (!script && hearth_loop) {
		hearth_entry_server_variables(server, false);
		return;
	}
	if (!script) {
		set_str(server, "PATH_INFO", path);
		return;
	}
	set_str(server, "DOCUMENT_ROOT", script->document_root);
	set_str(server, "SCRIPT_FILENAME", (hearth_str){script->filename, strlen(script->filename)});
	set_str(server, "SCRIPT_NAME", script->name);
	set_joined(server, "DOCUMENT_URI", script->name, script->path_info);
	set_joined(server, "PHP_SELF", script->name, script->path_info);
	if (script->path_info.len) {
		set_str(server, "PATH_INFO", script->path_info);
		set_joined(server, "PATH_TRANSLATED", script->document_root, script->path_info);
	}
	set_str(server, "REDIRECT_STATUS", (hearth_str){"200", 3});
}

/* Our sapi_module.register_server_variables. */
void hearth_register_server_variables(zval *server)
{
	void *request = SG(server_context);
	hearth_request_head head;
	hearth_str address, local, host, type;
	int64_t length;
	int port, local_port;
	bool secure;

	if (Z_TYPE(boot_server) == IS_ARRAY) {
		zend_hash_copy(Z_ARRVAL_P(server), Z_ARRVAL(boot_server), zval_add_ref);
	}
	if (!request) {
		if (!sealed) {
			php_import_environment_variables(server);
		}
		return;
	}
	hearth_on_head(request, &head);
	hearth_on_client(request, &address, &port, &local, &local_port, &secure);
	set_str(server, "REQUEST_METHOD", head.method);
	set_str(server, "REQUEST_URI", head.target);
	set_str(server, "QUERY_STRING", head.query);
	set_str(server, "SERVER_PROTOCOL", head.protocol);
	set_str(server, "GATEWAY_INTERFACE", (hearth_str){"CGI/1.1", 7});
	set_str(server, "SERVER_SOFTWARE", (hearth_str){"Hearth", 6});
	set_str(server, "REQUEST_SCHEME", secure ? (hearth_str){"https", 5} : (hearth_str){"http", 4});
	if (secure) {
		set_str(server, "HTTPS", (hearth_str){"on", 2});
	}
	set_str(server, "REMOTE_ADDR", address);
	set_port(server, "REMOTE_PORT", port);
	set_str(server, "SERVER_ADDR", local);
	set_port(server, "SERVER_PORT", local_port);
	register_server_name(request, server, local);
	register_script(server, head.path);
	hearth_on_content(request, &type, &length);
	if (type.len) {
		set_str(server, "CONTENT_TYPE", type);
	}
	if (hearth_on_header(request, (hearth_str){"content-length", 14}, &host)) {
		set_str(server, "CONTENT_LENGTH", host);
	}
	register_headers(request, server);
	zend_hash_str_del(Z_ARRVAL_P(server), ZEND_STRL("HTTP_CONTENT_TYPE"));
	zend_hash_str_del(Z_ARRVAL_P(server), ZEND_STRL("HTTP_CONTENT_LENGTH"));
}

/*
 * What sapi_activate() does for a request with a body, but when the body is asked for: find the parser for its type
 * and let that read it.
 */
static void prepare_post(void)
{
	sapi_post_entry *entry;
	char *type;
	size_t len;

	if (!SG(request_info).content_type || !SG(request_info).request_method
			|| strcmp(SG(request_info).request_method, "POST") != 0
			|| SG(request_info).request_body || SG(read_post_bytes) || !PG(enable_post_data_reading)) {
		return;
	}
	type = estrdup(SG(request_info).content_type);
	len = strcspn(type, ";, ");
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

void hearth_superglobals_need(void)
{
	hearth_request_state *state = hearth_current_request();
	unsigned char headers_sent = SG(headers_sent);

	if (!state || live_state == state || !state->request) {
		return;
	}
	live_state = state;
	state->superglobals_live = true;
	copy_strings(state->request);
	prepare_post();
	/* The engine parses a POST only before the head was sent; here that may come after. */
	SG(headers_sent) = 0;
	{
		zval env;
		ZVAL_COPY_VALUE(&env, &PG(http_globals)[TRACK_VARS_ENV]);
		ZVAL_UNDEF(&PG(http_globals)[TRACK_VARS_ENV]);
		php_hash_environment();
		ZVAL_COPY_VALUE(&PG(http_globals)[TRACK_VARS_ENV], &env);
	}
	zend_is_auto_global_str(ZEND_STRL("_SERVER"));
	zend_is_auto_global_str(ZEND_STRL("_REQUEST"));
	SG(headers_sent) = headers_sent;
}

/* ---- noticing the first use ---- */

static int on_fetch(zend_execute_data *frame)
{
	const zend_op *opline = frame->opline;

	if ((opline->extended_value & (ZEND_FETCH_GLOBAL | ZEND_FETCH_LOCAL | ZEND_FETCH_GLOBAL_LOCK)) == ZEND_FETCH_GLOBAL
			&& opline->op1_type == IS_CONST) {
		zval *name = RT_CONSTANT(opline, opline->op1);

		if (Z_TYPE_P(name) == IS_STRING && Z_STRVAL_P(name)[0] == '_') {
			hearth_superglobals_need();
		}
	}
	return ZEND_USER_OPCODE_DISPATCH;
}

/* Functions of PHP that read superglobals without an opcode. */
static const char *const readers[] = {"session_start", "filter_input", "filter_input_array", "filter_has_var", "phpinfo", "request_parse_body", NULL};
static zif_handler reader_handlers[8];
static zend_function *reader_functions[8];

static void on_reader(INTERNAL_FUNCTION_PARAMETERS)
{
	hearth_superglobals_need();
	for (int i = 0; readers[i]; i++) {
		if (EX(func) == reader_functions[i]
				|| (reader_functions[i] && zend_string_equals(EX(func)->common.function_name, reader_functions[i]->common.function_name))) {
			reader_handlers[i](INTERNAL_FUNCTION_PARAM_PASSTHRU);
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
	zval *server;

	zend_is_auto_global_str(ZEND_STRL("_SERVER"));
	zend_is_auto_global_str(ZEND_STRL("_ENV"));
	/* Or else opcache has it made, of what there is not yet, when it loads a file that another worker has compiled. */
	zend_is_auto_global_str(ZEND_STRL("_REQUEST"));
	server = zend_hash_find_known_hash(&EG(symbol_table), names[3]);
	if (server && Z_TYPE_P(server) == IS_ARRAY) {
		static const char *const drop[] = {
			"argv", "argc", "PHP_SELF", "SCRIPT_NAME", "SCRIPT_FILENAME", "PATH_TRANSLATED", "REQUEST_TIME", "REQUEST_TIME_FLOAT",
		};
		ZVAL_ARR(&boot_server, zend_array_dup(Z_ARRVAL_P(server)));
		for (size_t i = 0; i < sizeof drop / sizeof *drop; i++) {
			zend_hash_str_del(Z_ARRVAL(boot_server), drop[i], strlen(drop[i]));
		}
	}
	if (Z_TYPE(boot_server) == IS_ARRAY) {
		hearth_entry_server_forget(Z_ARRVAL(boot_server));
	}
	sealed = true;
	hearth_superglobals_clear();
}
