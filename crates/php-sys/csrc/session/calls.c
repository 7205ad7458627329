/*
 * Functions that open, close or replace the session, one at a time per request. They run PHP code: the save handler,
 * serialization, destructors, an error handler. If that code, or another task of the request meanwhile, opened or closed the
 * session too, the first call would go on with what the second has freed, which ends a process under `php` too.
 */
#include "engine/engine.h"
#include "engine/intercept.h"
#include "request/request.h"
#include "session/session.h"
#include "task/task.h"

static const char *const functions[] = {
	"session_abort", "session_decode", "session_destroy", "session_gc", "session_module_name", "session_regenerate_id", "session_reset",
	"session_set_save_handler", "session_start", "session_write_close",
};

/* The requests whose call is made in a Fiber, which is held until the call has ended: nothing else ends it in the middle. */
static hearth_request_state *in_fibers;

static void begin(hearth_request_state *state)
{
	state->session_call = hearth_task_id(hearth_current);
	state->session_fiber = EG(active_fiber);
	if (UNEXPECTED(state->session_fiber)) {
		GC_ADDREF(&state->session_fiber->std);
		state->session_next = in_fibers;
		in_fibers = state;
	}
}

/* Returns the Fiber of the call, which the caller releases; NULL if there is none. */
static zend_fiber *forget(hearth_request_state *state)
{
	zend_fiber *fiber = state->session_fiber;

	for (hearth_request_state **place = &in_fibers; fiber && *place; place = &(*place)->session_next) {
		if (*place == state) {
			*place = state->session_next;
			break;
		}
	}
	state->session_call = 0;
	state->session_fiber = NULL;
	return fiber;
}

static void end(hearth_request_state *state)
{
	zend_fiber *fiber = forget(state);

	if (UNEXPECTED(fiber)) {
		OBJ_RELEASE(&fiber->std);
	}
}

bool hearth_session_keeps_fiber(const zend_fiber *fiber)
{
	for (const hearth_request_state *state = in_fibers; state; state = state->session_next) {
		if (state->session_fiber == fiber) {
			return state != hearth_current_request();
		}
	}
	return false;
}

/* In classic mode a process has one request and one task, as under php-fpm. */
void hearth_session_call(zend_execute_data *call, zval *return_value, zif_handler original)
{
	hearth_request_state *state = hearth_current_request();

	if (!state || hearth_is_classic()) {
		original(call, return_value);
		return;
	}
	if (UNEXPECTED(state->session_call)) {
		php_error_docref(NULL, E_WARNING, "Another call of this request is opening or closing the session: make such calls one after the other");
		RETURN_FALSE;
	}
	begin(state);
	original(call, return_value);
	end(state);
}

void hearth_session_call_forget(const hearth_task *task)
{
	if (task->request && task->request->session_call == hearth_task_id(task)) {
		forget(task->request);
		/* session_regenerate_id() has saved the session and has no new id yet. The engine would write without one, and crash. */
		if (PS(session_status) == php_session_active && !PS(id)) {
			PS(session_status) = php_session_none;
		}
	}
}

void hearth_session_calls_free(hearth_request_state *state)
{
	forget(state);
}

/* Ends a Fiber that is suspended in such a call, as the end of the script does under `php` before it ends the session. */
static void end_fiber(zend_fiber *fiber)
{
	zend_object *object = &fiber->std;

	if (!hearth_fiber_is_suspended(fiber) || OBJ_FLAGS(object) & IS_OBJ_DESTRUCTOR_CALLED) {
		return;
	}
	GC_ADD_FLAGS(object, IS_OBJ_DESTRUCTOR_CALLED);
	GC_ADDREF(object);
	object->handlers->dtor_obj(object);
	OBJ_RELEASE(object);
}

bool hearth_session_enter(void)
{
	hearth_request_state *state = hearth_current_request();

	if (UNEXPECTED(state->session_fiber)) {
		end_fiber(state->session_fiber);
	}
	if (UNEXPECTED(state->session_call)) {
		return false;
	}
	begin(state);
	return true;
}

void hearth_session_leave(void)
{
	end(hearth_current_request());
}

void hearth_intercept_session(void)
{
	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
		zend_function *function = zend_hash_str_find_ptr(CG(function_table), functions[i], strlen(functions[i]));

		if (function && function->type == ZEND_INTERNAL_FUNCTION) {
			hearth_intercept_of(function)->of_session = true;
		}
	}
}
