/*
 * What code begins at the end of its request or task, the end waits for. So it begins nothing more once it was told that its
 * time is over: else it would go on for ever, because each exception ends one function only.
 */
#include "engine/intercept.h"
#include "request/request.h"

/* Functions that begin more, and the ends at which they do. */
static const struct { const char *name; uint8_t ends; } functions[] = {
	{"register_shutdown_function", HEARTH_ENDS_SHUTDOWN | HEARTH_ENDS_CODE},
	{"ob_start", HEARTH_ENDS_OUTPUT},
};

/*
 * An output callback that cannot be kept ends at once, and its destructor begins the next one: a recursion of code that catches
 * each error. So the request ends in a fatal error, which nothing catches.
 */
#define MOST_REFUSALS 16

bool hearth_refuse_more(uint8_t ends)
{
	static const char why[] = "The request is at its end and its time is over (request.timeout): it cannot begin anything more";
	hearth_request_state *state = hearth_current->request;

	if (!state || EXPECTED(!((hearth_current->ends | state->ends) & ends)) || !hearth_on_is_overdue()) {
		return false;
	}
	if (ends == HEARTH_ENDS_OUTPUT && state->refusals++ == MOST_REFUSALS) {
		zend_error_noreturn(E_ERROR, "%s", why);
	}
	hearth_throw(HEARTH_THROW_TIMEOUT, (hearth_str){why, sizeof why - 1});
	return true;
}

void hearth_intercept_begins(void)
{
	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
		zend_function *function = zend_hash_str_find_ptr(CG(function_table), functions[i].name, strlen(functions[i].name));

		if (function && function->type == ZEND_INTERNAL_FUNCTION) {
			hearth_intercept_of(function)->begins = functions[i].ends;
		}
	}
}
