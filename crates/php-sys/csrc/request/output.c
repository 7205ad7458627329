/* The output of PHP on its way to the client. */
#include "request/headers.h"
#include "request/output.h"
#include "task/task.h"

/* Bytes kept before the head leaves: header() works after echo, and a page of usual size gets a Content-Length. */
#define MOST_KEPT (64 * 1024)

bool hearth_output_keep(hearth_output *output, const char *text, size_t length)
{
	smart_str_appendl(&output->kept, text, length);
	return ZSTR_LEN(output->kept.s) >= MOST_KEPT;
}

hearth_str hearth_output_kept(const hearth_output *output)
{
	const zend_string *kept = output->kept.s;

	return kept ? (hearth_str){ZSTR_VAL(kept), ZSTR_LEN(kept)} : (hearth_str){NULL, 0};
}

void hearth_output_send(hearth_output *output, void *request)
{
	hearth_output before = *output;

	output->kept = (smart_str){0};
	if (before.kept.s && !output->gone && !hearth_on_write(request, hearth_output_kept(&before))) {
		output->gone = true;
		PG(connection_status) = PHP_CONNECTION_ABORTED;
	}
	smart_str_free(&before.kept);
}

/* ---- buffers ---- */

static void end_by(void (*end)(void))
{
	uint8_t before = hearth_current->ends;

	hearth_current->ends |= HEARTH_ENDS_OUTPUT;
	end();
	hearth_current->ends = before;
}

void hearth_buffers_end(void)
{
	end_by(php_output_end_all);
}

void hearth_buffers_drop(void)
{
	end_by(php_output_discard_all);
}

/* ---- the head ---- */

int hearth_output_status(void)
{
	int status = SG(sapi_headers).http_response_code;

	return status ? status : 200;
}

static void add_response_headers(hearth_header_list *headers, zend_array *set)
{
	zend_string *name;
	zval *values, *value;

	ZEND_HASH_FOREACH_STR_KEY_VAL(set, name, values) {
		if (!name || Z_TYPE_P(values) != IS_ARRAY) {
			continue;
		}
		ZEND_HASH_FOREACH_VAL(Z_ARRVAL_P(values), value) {
			if (Z_TYPE_P(value) == IS_STRING) {
				hearth_headers_add(headers, (hearth_str){ZSTR_VAL(name), ZSTR_LEN(name)},
					(hearth_str){Z_STRVAL_P(value), Z_STRLEN_P(value)});
			}
		} ZEND_HASH_FOREACH_END();
	} ZEND_HASH_FOREACH_END();
}

static bool is_typed(const hearth_header_list *headers)
{
	for (size_t i = 0; i < headers->count; i++) {
		hearth_str name = headers->list[i].name;

		if (name.len == 12 && strncasecmp(name.ptr, "content-type", 12) == 0) {
			return true;
		}
	}
	return false;
}

/*
 * Adds the type that default_mimetype and default_charset specify, unless it is the default, which Rust sets; returns
 * the string, to be freed.
 */
static char *add_default_type(hearth_header_list *headers)
{
	const char *mimetype = SG(default_mimetype), *charset = SG(default_charset);
	char *type;

	if (EXPECTED(mimetype && charset && strcmp(charset, "UTF-8") == 0 && strcmp(mimetype, "text/html") == 0) || is_typed(headers)) {
		return NULL;
	}
	type = sapi_get_default_content_type();
	hearth_headers_add(headers, (hearth_str){"Content-Type", 12}, (hearth_str){type, strlen(type)});
	return type;
}

void hearth_output_head(void *request, hearth_response *response, zend_array *own)
{
	hearth_header_list headers;
	char *type = NULL;

	hearth_headers_init(&headers);
	hearth_headers_add_sapi(&headers, own);
	if (own) {
		add_response_headers(&headers, own);
	}
	if (!response->cgi && response->kind != HEARTH_BODY_FILE) {
		type = add_default_type(&headers);
	}
	response->headers = headers.list;
	response->header_count = headers.count;
	hearth_on_respond(request, response);
	hearth_headers_free(&headers);
	if (UNEXPECTED(type)) {
		efree(type);
	}
}
