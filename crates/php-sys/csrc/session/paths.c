/*
 * The paths with which requests have called Hearth\Session::open(). Several requests may use one object, and each may have set
 * another session.save_path.
 */
#include "session/session.h"

typedef struct opened_path {
	struct opened_path *next;
	const hearth_request_state *request;
	const void *by;
	size_t length;
	char text[];
} opened_path;

/* In memory of the process: a request that broke leaves its paths behind. */
static opened_path *paths;

static opened_path **find(const void *by)
{
	opened_path **at = &paths;

	while (*at && !((*at)->by == by && (*at)->request == hearth_current_request())) {
		at = &(*at)->next;
	}
	return at;
}

static void forget(opened_path **at)
{
	opened_path *path = *at;

	*at = path->next;
	pefree(path, 1);
}

void hearth_session_path_set(const void *by, const zend_string *path)
{
	opened_path **before = find(by), *opened = pemalloc(sizeof *opened + ZSTR_LEN(path), 1);

	if (*before) {
		forget(before);
	}
	*opened = (opened_path){ .next = paths, .request = hearth_current_request(), .by = by, .length = ZSTR_LEN(path) };
	memcpy(opened->text, ZSTR_VAL(path), ZSTR_LEN(path));
	paths = opened;
}

bool hearth_session_path_of(const void *by, hearth_str *path)
{
	const opened_path *opened = *find(by);

	if (!opened) {
		return false;
	}
	*path = (hearth_str){opened->text, opened->length};
	return true;
}

void hearth_session_paths_forget(const void *by)
{
	for (opened_path **at = &paths; *at;) {
		if ((*at)->by == by) {
			forget(at);
		} else {
			at = &(*at)->next;
		}
	}
}

void hearth_session_paths_end(const hearth_request_state *request)
{
	for (opened_path **at = &paths; UNEXPECTED(*at);) {
		if ((*at)->request == request) {
			forget(at);
		} else {
			at = &(*at)->next;
		}
	}
}
