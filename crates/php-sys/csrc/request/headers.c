/* The headers of a response, and the functions by which PHP code reads headers. */
#include "request/headers.h"
#include "request/headers_arginfo.h"

void hearth_headers_init(hearth_header_list *headers)
{
	headers->list = headers->stack;
	headers->count = 0;
	headers->capacity = sizeof headers->stack / sizeof *headers->stack;
}

void hearth_headers_add(hearth_header_list *headers, hearth_str name, hearth_str value)
{
	if (headers->count == headers->capacity) {
		hearth_header *larger = safe_emalloc(headers->capacity * 2, sizeof *larger, 0);

		memcpy(larger, headers->list, headers->count * sizeof *larger);
		hearth_headers_free(headers);
		headers->list = larger;
		headers->capacity *= 2;
	}
	headers->list[headers->count++] = (hearth_header){name, value};
}

void hearth_headers_free(hearth_header_list *headers)
{
	if (headers->list != headers->stack) {
		efree(headers->list);
	}
}

static bool response_sets(zend_array *set, hearth_str name)
{
	zend_string *key;

	if (!set || (name.len == 10 && strncasecmp(name.ptr, "set-cookie", 10) == 0)) {
		return false;
	}
	ZEND_HASH_FOREACH_STR_KEY(set, key) {
		if (key && ZSTR_LEN(key) == name.len && strncasecmp(ZSTR_VAL(key), name.ptr, name.len) == 0) {
			return true;
		}
	} ZEND_HASH_FOREACH_END();
	return false;
}

/* Returns false if the line is no header. */
static bool split(const sapi_header_struct *header, hearth_str *name, hearth_str *value)
{
	const char *colon = memchr(header->header, ':', header->header_len);

	if (!colon) {
		return false;
	}
	*name = (hearth_str){header->header, (size_t) (colon - header->header)};
	value->ptr = colon + 1;
	while (*value->ptr == ' ') {
		value->ptr++;
	}
	value->len = (size_t) (header->header + header->header_len - value->ptr);
	return true;
}

void hearth_headers_add_sapi(hearth_header_list *headers, zend_array *response)
{
	zend_llist_position position;
	sapi_header_struct *header;
	hearth_str name, value;

	for (header = zend_llist_get_first_ex(&SG(sapi_headers).headers, &position); header;
			header = zend_llist_get_next_ex(&SG(sapi_headers).headers, &position)) {
		if (split(header, &name, &value) && !response_sets(response, name)) {
			hearth_headers_add(headers, name, value);
		}
	}
}

/* ---- for PHP code ---- */

/* Returns the name in the usual spelling of clients, such as Accept-Language. */
static zend_string *proper_name(hearth_str name)
{
	zend_string *proper = zend_string_init(name.ptr, name.len, 0);
	bool first = true;

	for (size_t i = 0; i < name.len; i++) {
		char *c = ZSTR_VAL(proper) + i;

		*c = (char) (first ? toupper((unsigned char) *c) : tolower((unsigned char) *c));
		first = *c == '-';
	}
	return proper;
}

bool hearth_header_is_plain(hearth_str name)
{
	for (size_t i = 0; i < name.len; i++) {
		if (!isalnum((unsigned char) name.ptr[i]) && name.ptr[i] != '-') {
			return false;
		}
	}
	return true;
}

static void add_received(zval *array, hearth_str name, hearth_str value)
{
	zend_string *key = proper_name(name);
	zval *known = zend_symtable_find(Z_ARRVAL_P(array), key);
	zval entry;

	if (known) {
		bool cookie = zend_string_equals_literal(key, "Cookie");

		ZVAL_STR(&entry, zend_strpprintf(0, "%s%s%.*s", Z_STRVAL_P(known), cookie ? "; " : ", ", (int) value.len, value.ptr));
	} else {
		ZVAL_STRINGL(&entry, value.ptr, value.len);
	}
	zend_symtable_update(Z_ARRVAL_P(array), key, &entry);
	zend_string_release(key);
}

/* array getallheaders(), array apache_request_headers(): the headers that the client sent. */
ZEND_FUNCTION(Hearth_getallheaders)
{
	hearth_header stack[64], *headers = stack;
	size_t count;

	ZEND_PARSE_PARAMETERS_NONE();
	array_init(return_value);
	if (!SG(server_context)) {
		return;
	}
	count = hearth_on_headers(SG(server_context), stack, 64);
	if (count > 64) {
		headers = safe_emalloc(count, sizeof *headers, 0);
		count = hearth_on_headers(SG(server_context), headers, count);
	}
	for (size_t i = 0; i < count; i++) {
		if (hearth_header_is_plain(headers[i].name)) {
			add_received(return_value, headers[i].name, headers[i].value);
		}
	}
	if (headers != stack) {
		efree(headers);
	}
}

/* array apache_response_headers(): the headers that header() and setcookie() have set so far. */
ZEND_FUNCTION(Hearth_apache_response_headers)
{
	zend_llist_position position;
	sapi_header_struct *header;
	hearth_str name, value;

	ZEND_PARSE_PARAMETERS_NONE();
	array_init(return_value);
	for (header = zend_llist_get_first_ex(&SG(sapi_headers).headers, &position); header;
			header = zend_llist_get_next_ex(&SG(sapi_headers).headers, &position)) {
		if (split(header, &name, &value)) {
			add_assoc_stringl_ex(return_value, name.ptr, name.len, value.ptr, value.len);
		}
	}
}

const zend_function_entry *const hearth_header_functions = ext_functions;
