/* Cookies as $_COOKIE has them, for Hearth\Request::cookie(), without a trace in what filter_input() reads. */
#include "task.h"

static unsigned int (*keep_and_filter)(int, const char *, char **, size_t, size_t *);

/* As for parse_str(): by the default filter, and not kept. */
static unsigned int only_filter(int arg, const char *name, char **value, size_t length, size_t *new_length)
{
	(void) arg;
	return keep_and_filter(PARSE_STRING, name, value, length, new_length);
}

/* The cookies of `line`, as in $_COOKIE. */
void hearth_parse_cookies(hearth_str line, zval *result)
{
	zval *place = &PG(http_globals)[TRACK_VARS_COOKIE], kept;
	char *before = SG(request_info).cookie_data;

	ZVAL_COPY_VALUE(&kept, place);
	ZVAL_UNDEF(place);
	SG(request_info).cookie_data = estrndup(line.ptr, line.len);
	keep_and_filter = sapi_module.input_filter;
	sapi_module.input_filter = only_filter;
	sapi_module.treat_data(PARSE_COOKIE, NULL, NULL);
	sapi_module.input_filter = keep_and_filter;
	ZVAL_COPY_VALUE(result, place);
	efree(SG(request_info).cookie_data);
	SG(request_info).cookie_data = before;
	ZVAL_COPY_VALUE(place, &kept);
}
