/*
 * The error page for developers (display_errors): the error, the lines of the source around it, and the request. Only text,
 * so that a terminal shows it too.
 */
#include "engine/engine.h"
#include "request/request.h"

#include <stdio.h>

enum { LINES_AROUND = 5, LONGEST_LINE = 300, MOST_HEADERS = 64 };

static void append_escaped(smart_str *page, const char *text, size_t length)
{
	zend_string *escaped = php_escape_html_entities((const unsigned char *) text, length, 0, ENT_QUOTES | ENT_SUBSTITUTE, "UTF-8");

	smart_str_append(page, escaped);
	zend_string_release(escaped);
}

/* Appends nothing if there is no such file: code of eval(), a stream. */
static void append_source(smart_str *page, const char *file, zend_long line)
{
	char text[LONGEST_LINE];
	zend_long number = 1;
	bool begins = true;
	FILE *source = line > 0 ? fopen(file, "re") : NULL;

	if (!source) {
		return;
	}
	smart_str_appends(page, "<pre>");
	while (number <= line + LINES_AROUND && fgets(text, sizeof text, source)) {
		size_t length = strlen(text);
		bool ends = length > 0 && text[length - 1] == '\n';

		/* The rest of a line longer than the buffer is left out. */
		if (begins && number >= line - LINES_AROUND) {
			smart_str_append_printf(page, number == line ? "<mark>>%6" ZEND_LONG_FMT_SPEC "  " : " %6" ZEND_LONG_FMT_SPEC "  ", number);
			append_escaped(page, text, length - ends);
			smart_str_appends(page, number == line ? "</mark>\n" : "\n");
		}
		begins = ends;
		number += ends;
	}
	smart_str_appends(page, "</pre>\n");
	fclose(source);
}

static bool is_secret(hearth_str name)
{
	return (name.len == 6 && strncasecmp(name.ptr, "cookie", 6) == 0)
		|| (name.len == 13 && strncasecmp(name.ptr, "authorization", 13) == 0);
}

static void append_request(smart_str *page, hearth_request_state *state)
{
	hearth_header headers[MOST_HEADERS];
	hearth_request_head head;
	size_t count;

	if (!state || !state->request) {
		return;
	}
	hearth_on_head(state->request, &head);
	smart_str_appends(page, "<h2>Request</h2>\n<pre>");
	append_escaped(page, head.method.ptr, head.method.len);
	smart_str_appendc(page, ' ');
	append_escaped(page, head.target.ptr, head.target.len);
	smart_str_appendc(page, '\n');
	count = hearth_on_headers(state->request, headers, MOST_HEADERS);
	for (size_t i = 0; i < MIN(count, MOST_HEADERS); i++) {
		append_escaped(page, headers[i].name.ptr, headers[i].name.len);
		smart_str_appends(page, ": ");
		if (is_secret(headers[i].name)) {
			smart_str_appends(page, "(not shown)");
		} else {
			append_escaped(page, headers[i].value.ptr, headers[i].value.len);
		}
		smart_str_appendc(page, '\n');
	}
	smart_str_appends(page, "</pre>\n");
}

static void append_echoed(smart_str *page, zend_string *echoed)
{
	if (echoed && ZSTR_LEN(echoed) > 0) {
		smart_str_appends(page, "<h2>Echoed before</h2>\n<pre>");
		append_escaped(page, ZSTR_VAL(echoed), ZSTR_LEN(echoed));
		smart_str_appends(page, "</pre>\n");
	}
}

static const char style[] = "<meta name=color-scheme content='light dark'><style>body{font:1rem/1.4 sans-serif;margin:1.5rem}"
	"pre{font-size:.85rem;white-space:pre-wrap;overflow-wrap:anywhere}mark{background:#fc06;color:inherit}</style>";

/* Writes what the error was and where, before all else. */
static void begin_page(smart_str *page, const char *title, const char *message, size_t length, const char *file, zend_long line)
{
	smart_str_append_printf(page, "<!doctype html><meta charset=utf-8><title>%s</title>%s\n<h1>%s</h1>\n<p><strong>", title, style, title);
	append_escaped(page, message, length);
	smart_str_appends(page, "</strong>\n<p>in ");
	append_escaped(page, file, strlen(file));
	smart_str_append_printf(page, ":" ZEND_LONG_FMT "\n", line);
	append_source(page, file, line);
}

static zval *exception_property(zend_object *exception, zend_known_string_id name, zval *space)
{
	return zend_read_property_ex(zend_get_exception_base(exception), exception, ZSTR_KNOWN(name), true, space);
}

static void append_text(smart_str *page, const char *text, size_t length)
{
	smart_str_appends(page, "<pre>");
	append_escaped(page, text, length);
	smart_str_appends(page, "</pre>\n");
}

static void append_trace(smart_str *page, zend_object *exception)
{
	zval text;

	hearth_exception_text(exception, &text);
	if (Z_TYPE(text) == IS_STRING) {
		append_text(page, Z_STRVAL(text), Z_STRLEN(text));
	}
	zval_ptr_dtor(&text);
}

zend_string *hearth_exception_page(hearth_request_state *state, zend_object *exception)
{
	zval spaces[3];
	zend_string *message = zval_get_string(exception_property(exception, ZEND_STR_MESSAGE, &spaces[0]));
	zend_string *file = zval_get_string(exception_property(exception, ZEND_STR_FILE, &spaces[1]));
	zend_long line = zval_get_long(exception_property(exception, ZEND_STR_LINE, &spaces[2]));
	smart_str page = {0};
	char *title;

	zend_spprintf(&title, 0, "Uncaught %s", ZSTR_VAL(exception->ce->name));
	begin_page(&page, title, ZSTR_VAL(message), ZSTR_LEN(message), ZSTR_VAL(file), line);
	efree(title);
	append_trace(&page, exception);
	append_echoed(&page, state ? state->output.kept.s : NULL);
	append_request(&page, state);
	zend_string_release(message);
	zend_string_release(file);
	return smart_str_extract(&page);
}

/* Whether the output is the engine's own text, or empty: output of shutdown functions is the app's page, and stays. */
static bool is_own_text(zend_string *echoed)
{
	zend_string *message = PG(last_error_message);
	size_t most = ZSTR_LEN(message) + (PG(last_error_file) ? ZSTR_LEN(PG(last_error_file)) : 0) + 80, length;
	char end[32];

	if (!echoed) {
		return true;
	}
	length = (size_t) snprintf(end, sizeof end, " on line %d\n", (int) PG(last_error_lineno));
	return ZSTR_LEN(echoed) <= most && ZSTR_LEN(echoed) > length
		&& memcmp(ZSTR_VAL(echoed) + ZSTR_LEN(echoed) - length, end, length) == 0;
}

zend_string *hearth_fatal_page(hearth_request_state *state)
{
	smart_str page = {0};
	zend_string *message = hearth_fatal_error();
	bool is_shown = PG(display_errors) && ZSTR_LEN(message) > 0 && !hearth_heap_is_full() && is_own_text(state->output.kept.s);

	if (is_shown) {
		zend_string *file = PG(last_error_file);

		begin_page(&page, "Fatal error", ZSTR_VAL(message), ZSTR_LEN(message), file ? ZSTR_VAL(file) : "?", PG(last_error_lineno));
		append_request(&page, state);
	}
	zend_string_release(message);
	return is_shown ? smart_str_extract(&page) : NULL;
}
