/*
 * What ext/filter keeps of a request: each variable as it came, for filter_input() and its relatives. It belongs to the
 * superglobals and is exchanged with them.
 */
#include "task.h"

/* post_array, get_array, cookie_array, env_array and server_array of the module, which libphp does not export. */
static zval *inputs;

static unsigned int (*input_filter)(int, const char *, char **, size_t, size_t *);

/* What a task parses for itself goes through the default filter, as for parse_str(), and is not kept. */
static unsigned int on_input(int arg, const char *name, char **value, size_t length, size_t *new_length)
{
	bool own = hearth_current && hearth_current->parses_for_itself;

	return input_filter(own ? PARSE_STRING : arg, name, value, length, new_length);
}

/* The setting `filter.default` leads to them: they stand before its own place in the module's globals. */
void hearth_input_filter_hook(void)
{
	zend_ini_entry *entry = zend_hash_str_find_ptr(EG(ini_directives), ZEND_STRL("filter.default"));

	if (entry && entry->mh_arg2 && (size_t) entry->mh_arg1 == HEARTH_FILTER_INPUTS * sizeof(zval)) {
		inputs = entry->mh_arg2;
	}
	input_filter = sapi_module.input_filter;
	sapi_module.input_filter = on_input;
}

static void forget(void)
{
	for (int i = 0; i < HEARTH_FILTER_INPUTS; i++) {
		ZVAL_UNDEF(&inputs[i]);
	}
}

void hearth_input_filter_save(zval *into)
{
	if (inputs) {
		memcpy(into, inputs, HEARTH_FILTER_INPUTS * sizeof(zval));
		forget();
	}
}

void hearth_input_filter_load(const zval *from)
{
	if (inputs) {
		memcpy(inputs, from, HEARTH_FILTER_INPUTS * sizeof(zval));
	}
}

/* What the module does at the end of a request. */
void hearth_input_filter_clear(void)
{
	if (!inputs) {
		return;
	}
	for (int i = 0; i < HEARTH_FILTER_INPUTS; i++) {
		zval_ptr_dtor(&inputs[i]);
	}
	forget();
}

/* The cookies of `line`, as in $_COOKIE. */
void hearth_parse_cookies(hearth_str line, zval *result)
{
	zval *place = &PG(http_globals)[TRACK_VARS_COOKIE], kept;
	char *before = SG(request_info).cookie_data;

	ZVAL_COPY_VALUE(&kept, place);
	ZVAL_UNDEF(place);
	SG(request_info).cookie_data = estrndup(line.ptr, line.len);
	hearth_current->parses_for_itself = true;
	sapi_module.treat_data(PARSE_COOKIE, NULL, NULL);
	hearth_current->parses_for_itself = false;
	ZVAL_COPY_VALUE(result, place);
	efree(SG(request_info).cookie_data);
	SG(request_info).cookie_data = before;
	ZVAL_COPY_VALUE(place, &kept);
}
