/* Parses the query and the cookies for Hearth\Request, as $_GET and $_COOKIE have them, and leaves no trace in what filter_input() reads. */
#include "engine/engine.h"
#include "request/request.h"
#include "task/no_suspend.h"

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

/* Parses text of a request as one step: no other task sees what is half parsed, and the error handler does not run in the middle. */
void hearth_parse_input(int kind, char *text, zval *into)
{
	hearth_section *section = hearth_section_enter(__builtin_frame_address(0));
	zval handler;

	hearth_error_handler_put_away(&handler);
	sapi_module.treat_data(kind, text, into);
	hearth_error_handler_put_back(&handler);
	hearth_section_leave(section);
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
	hearth_parse_input(PARSE_COOKIE, NULL, NULL);
	hearth_current->parses_for_itself = false;
	ZVAL_COPY_VALUE(result, place);
	efree(SG(request_info).cookie_data);
	SG(request_info).cookie_data = before;
	ZVAL_COPY_VALUE(place, &kept);
}
