/* The content of $_SERVER: the environment and what boot made of it, the request, the script. */
#include "mode/mode.h"
#include "request/headers.h"
#include "request/request.h"
#include "task/entry.h"

/* $_SERVER as boot left it: the environment, and what the entry script (dotenv, for example) added. */
static zval boot_server;
static bool sealed;
/* The environment of the process, as $_SERVER has it. */
static HashTable *environment;

extern char **environ;

/*
 * Whether the environment's variable is left out, because it could be mistaken for one from the client, or from the server
 * for the client. What the server sets for each request overwrites the environment's variable.
 */
static bool is_of_request(const char *name, size_t length)
{
	static const char *const names[] = {
		"HTTPS", "CONTENT_TYPE", "CONTENT_LENGTH", "PATH_INFO", "PATH_TRANSLATED", "AUTH_TYPE", "REMOTE_USER", "REMOTE_IDENT",
		"REMOTE_HOST", "PHP_AUTH_USER", "PHP_AUTH_PW", "PHP_AUTH_DIGEST",
	};

	if (length >= 5 && memcmp(name, "HTTP_", 5) == 0) {
		return true;
	}
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		if (strlen(names[i]) == length && memcmp(name, names[i], length) == 0) {
			return true;
		}
	}
	return false;
}

/* Called at the engine's start: strings are interned for the life of the process, so that copies count no references. */
void hearth_server_environment_keep(void)
{
	environment = pemalloc(sizeof *environment, 1);
	zend_hash_init(environment, 64, NULL, NULL, 1);
	for (char **entry = environ; entry && *entry; entry++) {
		size_t length = strcspn(*entry, "=");
		zend_string *name;
		zval text;

		if (length == 0 || (*entry)[length] != '=' || strcspn(*entry, " .[") < length || is_of_request(*entry, length)) {
			continue;
		}
		name = zend_string_init_interned(*entry, length, 1);
		ZVAL_STR(&text, zend_string_init_interned(*entry + length + 1, strlen(*entry + length + 1), 1));
		zend_symtable_update(environment, name, &text);
	}
}

/* Whether this is a variable of the environment, and not of the request. */
bool hearth_server_is_environment(const char *name, size_t length, zval *value)
{
	zval *known = zend_hash_str_find(environment, name, length);

	return known && Z_TYPE_P(value) == IS_STRING && Z_STR_P(value) == Z_STR_P(known);
}

/* Sets a variable through the input filter, as in every other SAPI, so that filter_input(INPUT_SERVER) knows it. */
static void set_variable(zval *server, const char *name, const char *value, size_t len)
{
	char *text = (char *) value;
	size_t new_len = len;

	if (sapi_module.input_filter(PARSE_SERVER, name, &text, len, &new_len)) {
		php_register_variable_safe(name, text, new_len, server);
	}
}

void hearth_set_server_variable(zval *server, const char *name, const char *value)
{
	set_variable(server, name, value, strlen(value));
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

/* Leaves out `Proxy` (httpoxy): a client must not be able to set HTTP_PROXY. */
static bool is_passed(hearth_str name)
{
	return !(name.len == 5 && strncasecmp(name.ptr, "proxy", 5) == 0) && hearth_header_is_plain(name);
}

static bool is_same(hearth_str a, hearth_str b)
{
	return a.len == b.len && strncasecmp(a.ptr, b.ptr, a.len) == 0;
}

/* Joins a header that came more than once, as every CGI server does, and sets it at its first position. */
static void register_header(const hearth_header *headers, size_t count, size_t i, zval *server)
{
	smart_str name = {0}, joined = {0};

	for (size_t j = 0; j < count; j++) {
		if (j == i || !is_same(headers[i].name, headers[j].name)) {
			continue;
		}
		if (j < i) {
			smart_str_free(&joined);
			return;
		}
		if (!joined.s) {
			smart_str_appendl(&joined, headers[i].value.ptr, headers[i].value.len);
		}
		smart_str_appends(&joined, is_same(headers[i].name, (hearth_str){"cookie", 6}) ? "; " : ", ");
		smart_str_appendl(&joined, headers[j].value.ptr, headers[j].value.len);
	}
	cgi_name(&name, headers[i].name);
	if (joined.s) {
		smart_str_0(&joined);
		set_variable(server, ZSTR_VAL(name.s), ZSTR_VAL(joined.s), ZSTR_LEN(joined.s));
	} else {
		set_variable(server, ZSTR_VAL(name.s), headers[i].value.ptr, headers[i].value.len);
	}
	smart_str_free(&joined);
	smart_str_free(&name);
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
		/* CONTENT_TYPE and CONTENT_LENGTH have names of their own. */
		if (is_passed(headers[i].name) && !is_same(headers[i].name, (hearth_str){ZEND_STRL("content-type")})
				&& !is_same(headers[i].name, (hearth_str){ZEND_STRL("content-length")})) {
			register_header(headers, count, i, server);
		}
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

/* WordPress and others check this for whether addresses are rewritten, and know nginx, whose rewrite rules are ours. */
static const char software[] = "Hearth (as nginx)";

/* Sets the variables of a FrankenPHP loop: the part of the path behind the name of the script is PATH_INFO. */
static void register_loop_path(zval *server, hearth_str path)
{
	const char *name = strrchr(hearth_entry_path, '/');
	hearth_str script = {name, strlen(name)}, rest = {NULL, 0};

	if (path.len > script.len && path.ptr[script.len] == '/' && memcmp(path.ptr, script.ptr, script.len) == 0) {
		rest = (hearth_str){path.ptr + script.len, path.len - script.len};
	}
	set_str(server, "DOCUMENT_URI", script);
	set_str(server, "PATH_INFO", rest);
	set_joined(server, "PHP_SELF", script, rest);
}

/*
 * A resident app has no script per path: the whole path is PATH_INFO. In classic mode the variables are those
 * of php-fpm behind nginx.
 */
static void register_script(zval *server, hearth_str path)
{
	const hearth_script *script = hearth_classic_script();

	if (!script && hearth_loop) {
		hearth_entry_server_variables(server, false);
		register_loop_path(server, path);
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

static void register_head(zval *server, const hearth_request_head *head)
{
	set_str(server, "REQUEST_METHOD", head->method);
	set_str(server, "REQUEST_URI", head->target);
	set_str(server, "QUERY_STRING", hearth_query_string(head));
	set_str(server, "SERVER_PROTOCOL", head->protocol);
	set_str(server, "GATEWAY_INTERFACE", (hearth_str){"CGI/1.1", 7});
	set_str(server, "SERVER_SOFTWARE", (hearth_str){software, sizeof software - 1});
}

static void register_client(void *request, zval *server)
{
	hearth_client client = hearth_on_client(request);

	set_str(server, "REQUEST_SCHEME", client.secure ? (hearth_str){"https", 5} : (hearth_str){"http", 4});
	if (client.secure) {
		set_str(server, "HTTPS", (hearth_str){"on", 2});
	}
	set_str(server, "REMOTE_ADDR", client.address);
	set_port(server, "REMOTE_PORT", client.port);
	set_str(server, "SERVER_ADDR", client.local);
	set_port(server, "SERVER_PORT", client.local_port);
	register_server_name(request, server, client.local);
}

static void register_content(void *request, zval *server)
{
	hearth_str type, field;
	int64_t length;

	hearth_on_content(request, &type, &length);
	if (type.len) {
		set_str(server, "CONTENT_TYPE", type);
	}
	if (hearth_on_header(request, (hearth_str){"content-length", 14}, &field)) {
		set_str(server, "CONTENT_LENGTH", field);
	}
}

/* The register_server_variables of our sapi_module. */
void hearth_register_server_variables(zval *server)
{
	void *request = SG(server_context);
	hearth_request_head head;

	if (Z_TYPE(boot_server) == IS_ARRAY) {
		zend_hash_copy(Z_ARRVAL_P(server), Z_ARRVAL(boot_server), zval_add_ref);
	} else if (!sealed) {
		zend_hash_copy(Z_ARRVAL_P(server), environment, NULL);
	}
	if (!request) {
		return;
	}
	hearth_on_head(request, &head);
	register_head(server, &head);
	register_client(request, server);
	register_script(server, head.path);
	register_content(request, server);
	register_headers(request, server);
}

/* Called at the end of boot, with $_SERVER as boot left it. */
void hearth_server_variables_seal(zval *server)
{
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
}
