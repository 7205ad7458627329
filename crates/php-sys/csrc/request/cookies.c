/* Parses cookies as $_COOKIE has them, for Hearth\Request::cookie(), and leaves no trace in what filter_input() reads. */
#include "request/request.h"

static unsigned int (*input_filter)(int, const char *, char **, size_t, size_t *);

/* Values that a task parses for itself pass the default filter, as for parse_str(), and filter_input() does not see them. */
static unsigned int on_input(int arg, const char *name, char **value, size_t length, size_t *new_length)
{
	bool own = hearth_current && hearth_current->parses_for_itself;

	return input_filter(own ? PARSE_STRING : arg, name, value, length, new_length);
}

void hearth_cookies_hook(void)
{
	input_filter = sapi_module.input_filter;
	sapi_module.input_filter = on_input;
}

/* Parses the cookies of `line`, as in $_COOKIE. */
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
