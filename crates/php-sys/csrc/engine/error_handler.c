/*
 * set_error_handler() while the handler waits. The engine unsets the handler while it runs, so that its own errors do not
 * call it again. The request's other tasks, which run meanwhile, still have the handler, but for those that it started.
 */
#include "engine/engine.h"
#include "engine/replace.h"

static zif_handler set_handler, restore_handler;

/* Keeps the handler that is set now, which is not running. */
static void keep(hearth_request_state *state)
{
	zval before;

	ZVAL_COPY_VALUE(&before, &state->known_error_handler);
	ZVAL_COPY(&state->known_error_handler, &EG(user_error_handler));
	zval_ptr_dtor(&before);
}

void hearth_error_handler_begin(hearth_request_state *state)
{
	ZVAL_COPY(&state->known_error_handler, &EG(user_error_handler));
}

void hearth_error_handler_end(hearth_request_state *state)
{
	zval before;

	ZVAL_COPY_VALUE(&before, &state->known_error_handler);
	ZVAL_UNDEF(&state->known_error_handler);
	zval_ptr_dtor(&before);
}

void hearth_error_handler_shown(hearth_task *task)
{
	zval *now = &EG(user_error_handler);

	ZVAL_COPY(now, &task->request->known_error_handler);
	if (!task->done) {
		ZVAL_COPY_VALUE(&task->shown_error_handler, now);
	}
}

/* If another task has set a handler meanwhile, that one holds from now on, as if the running handler had set it. */
void hearth_error_handler_hidden(hearth_task *task)
{
	zval *now = &EG(user_error_handler), *shown = &task->shown_error_handler;

	if (Z_TYPE_P(now) == Z_TYPE_P(shown) && Z_COUNTED_P(now) == Z_COUNTED_P(shown)) {
		zval_ptr_dtor(now);
		ZVAL_UNDEF(now);
	}
	ZVAL_UNDEF(shown);
}

/*
 * A task that begins inside the handler counts as inside it: otherwise its errors would call the running handler,
 * which begins the next task.
 */
void hearth_error_handler_inherit(hearth_task *task)
{
	const zval *known = &task->request->known_error_handler;

	if (UNEXPECTED(Z_TYPE(EG(user_error_handler)) == IS_UNDEF) && Z_TYPE_P(known) != IS_UNDEF) {
		ZVAL_COPY_VALUE(&task->shown_error_handler, known);
	}
}

/*
 * PHP parses the input of a request before any of its code runs, so a warning about it goes to the log, and not to a handler. Here code has
 * run: the handler is unset for as long, as while it runs itself.
 */
void hearth_error_handler_put_away(zval *handler)
{
	ZVAL_COPY_VALUE(handler, &EG(user_error_handler));
	ZVAL_UNDEF(&EG(user_error_handler));
}

/* A handler that another task of the request has set meanwhile stays. */
void hearth_error_handler_put_back(zval *handler)
{
	if (Z_TYPE(EG(user_error_handler)) == IS_UNDEF) {
		ZVAL_COPY_VALUE(&EG(user_error_handler), handler);
	} else {
		zval_ptr_dtor(handler);
	}
}

static void on_change(zif_handler original, INTERNAL_FUNCTION_PARAMETERS)
{
	hearth_request_state *state = hearth_current_request();

	original(INTERNAL_FUNCTION_PARAM_PASSTHRU);
	if (state) {
		keep(state);
	}
}

static void on_set(INTERNAL_FUNCTION_PARAMETERS)
{
	on_change(set_handler, INTERNAL_FUNCTION_PARAM_PASSTHRU);
}

static void on_restore(INTERNAL_FUNCTION_PARAMETERS)
{
	on_change(restore_handler, INTERNAL_FUNCTION_PARAM_PASSTHRU);
}

void hearth_error_handler_hook(void)
{
	hearth_replace_function("set_error_handler", &set_handler, on_set);
	hearth_replace_function("restore_error_handler", &restore_handler, on_restore);
}
