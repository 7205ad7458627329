/* What a task is refused or found to use where it is inside an extension without a call: see task/inside.h. */
#include "engine/intercept.h"
#include "task/inside.h"

bool hearth_inside_refuses(const zend_function *function, const void *what)
{
	uint64_t other;

	if (!what) {
		return false;
	}
	if (hearth_pool_calls && hearth_pool_calls_refuse(EG(current_execute_data), function, what)) {
		return true;
	}
	other = hearth_use_user_of(what);
	if (UNEXPECTED(other)) {
		hearth_use_refuse(function, other);
	}
	return other != 0;
}

const hearth_inside *hearth_inside_of(const zend_execute_data *call, const hearth_inside *after)
{
	const hearth_inside *inside = after ? after->next : hearth_current->inside;

	while (inside && inside->call != call) {
		inside = inside->next;
	}
	return inside;
}

const void *hearth_inside_connection(const hearth_inside *inside, zend_object **object)
{
	*object = inside->object;
	return inside->object ? hearth_connection_of_object(inside->object) : inside->what;
}
