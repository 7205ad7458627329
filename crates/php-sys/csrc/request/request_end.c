/*
 * The end of a request, or of background work: waits for its tasks and releases what it holds. Both may run PHP code that
 * starts new work, so they repeat until nothing is left: the next request reuses the memory.
 */
#include "engine/engine.h"
#include "engine/programs.h"
#include "engine/soap.h"
#include "request/request.h"
#include "task/call.h"

/*
 * The engine walks the shutdown functions as a packed array, and reads wrong memory if one of them registers a function
 * under a name, as session_set_save_handler() does: that makes a hash table of the array. So it is converted before.
 */
void hearth_shutdown_functions_ready(void)
{
	HashTable *functions = BG(user_shutdown_function_names);

	if (functions && HT_IS_INITIALIZED(functions) && HT_IS_PACKED(functions)) {
		zend_hash_packed_to_hash(functions);
	}
}

/* Destructors of what they hold may register others, which must not be put into the list that is being freed. */
static void free_shutdown_functions(void)
{
	HashTable *functions = BG(user_shutdown_function_names);

	BG(user_shutdown_function_names) = NULL;
	if (EXPECTED(functions)) {
		zend_array_destroy(functions);
	}
}

/*
 * Runs them as every PHP does: after the code, before the response is complete, so that they may still echo and set headers.
 * The engine goes on after a fatal error in one of them; a task does not.
 */
void hearth_run_shutdown_functions(void)
{
	bool before = CG(unclean_shutdown);
	uint8_t ends;

	if (EXPECTED(!BG(user_shutdown_function_names))) {
		return;
	}
	CG(unclean_shutdown) = false;
	hearth_body_mend();
	hearth_shutdown_functions_ready();
	ends = hearth_current->ends;
	hearth_current->ends |= HEARTH_ENDS_SHUTDOWN;
	php_call_shutdown_functions();
	hearth_current->ends = ends;
	if (UNEXPECTED(CG(unclean_shutdown)) || UNEXPECTED(HEARTH_IS_OUT_OF_MEMORY()) || UNEXPECTED(hearth_current->fatal_pending)) {
		/* No function is called twice. The list is not freed: the functions may hold what the error left half done. */
		BG(user_shutdown_function_names) = NULL;
		zend_bailout();
	}
	CG(unclean_shutdown) = before;
	free_shutdown_functions();
	if (EG(exception)) {
		hearth_report_exception();
	}
}

/* The children use what the end of the request would free. So it ends as after a fatal error, which frees nothing. */
static ZEND_COLD void leave_children(void)
{
	hearth_report_exception();
	hearth_bail_out_of_memory();
	hearth_log(HEARTH_LOG_ERROR, "the request is broken off: its tasks cannot be awaited while a library holds a lock");
	zend_bailout();
}

/* Waits for the children. Once that wait was ended, by the time limit or a client that left, they are cancelled. */
static void join_children(hearth_request_state *state)
{
	bool cancel = state->failed || state->output.gone;

	while (state->tasks > 1 && !hearth_on_join_children(cancel)) {
		if (UNEXPECTED(!hearth_may_suspend())) {
			leave_children();
		}
		hearth_report_exception();
		cancel = true;
	}
	hearth_report_exception();
	state->orphans = state->tasks > 1;
}

void hearth_run_deferred(hearth_request_state *state)
{
	while (state->deferred) {
		HashTable *deferred = state->deferred;
		zval *callback, result;

		state->deferred = NULL;
		ZEND_HASH_FOREACH_VAL(deferred, callback) {
			if (call_user_function(NULL, NULL, callback, &result, 0, NULL) == SUCCESS) {
				zval_ptr_dtor(&result);
			}
			if (EG(exception)) {
				hearth_report_exception();
			}
		} ZEND_HASH_FOREACH_END();
		zend_array_destroy(deferred);
	}
}

/* An exception ends this wait only, not the waits that follow. */
static void let_response_go(void)
{
	hearth_on_yield();
	hearth_report_exception();
}

static bool is_at_work(hearth_request_state *state)
{
	return (state->tasks > 1 && !state->orphans) || state->deferred || BG(user_shutdown_function_names);
}

static void work(hearth_request_state *state)
{
	if (state->tasks > 1) {
		join_children(state);
	}
	if (state->deferred) {
		let_response_go();
		hearth_run_deferred(state);
	}
	hearth_run_shutdown_functions();
}

/* A destructor may set a value again while it is released. */
static void release_value(zval *value)
{
	zval before;

	ZVAL_COPY_VALUE(&before, value);
	ZVAL_UNDEF(value);
	zval_ptr_dtor(&before);
}

static void release_stack(zend_stack *values)
{
	zend_stack before = *values;

	if (EXPECTED(!before.elements)) {
		return;
	}
	zend_stack_init(values, sizeof(zval));
	while (!zend_stack_is_empty(&before)) {
		zval *last = zend_stack_top(&before);

		zend_stack_del_top(&before);
		zval_ptr_dtor(last);
	}
	zend_stack_destroy(&before);
}

static bool has_handlers(void)
{
	return Z_TYPE(EG(user_error_handler)) != IS_UNDEF || Z_TYPE(EG(user_exception_handler)) != IS_UNDEF
		|| Z_TYPE(SG(callback_func)) != IS_UNDEF || EG(user_error_handlers).top > 0 || EG(user_exception_handlers).top > 0;
}

static void release_handlers(hearth_request_state *state)
{
	hearth_error_handler_end(state);
	release_value(&EG(user_error_handler));
	release_value(&EG(user_exception_handler));
	release_stack(&EG(user_error_handlers));
	release_stack(&EG(user_exception_handlers));
	if (UNEXPECTED(EG(user_error_handlers_error_reporting).elements)) {
		zend_stack_clean(&EG(user_error_handlers_error_reporting), NULL, true);
	}
	release_value(&SG(callback_func));
}

/* Does not free them. */
static void forget_handlers(hearth_request_state *state)
{
	ZVAL_UNDEF(&state->known_error_handler);
	ZVAL_UNDEF(&EG(user_error_handler));
	ZVAL_UNDEF(&EG(user_exception_handler));
	ZVAL_UNDEF(&SG(callback_func));
	EG(user_error_handlers).top = EG(user_exception_handlers).top = 0;
}

/* How often is released what destructors have set again meanwhile. */
#define MOST_ROUNDS 16

/* Returns whether destructors may have set something again. */
static bool release_rest(hearth_request_state *state, uint32_t round)
{
	if (UNEXPECTED(round == MOST_ROUNDS)) {
		hearth_ranges_forget(HEARTH_SCOPE_REQUEST);
		forget_handlers(state);
		return false;
	}
	if (UNEXPECTED(hearth_ranges_changed(HEARTH_SCOPE_REQUEST))) {
		hearth_ranges_release(HEARTH_SCOPE_REQUEST);
		return true;
	}
	return has_handlers();
}

/* Releases in the order of php_request_shutdown. Returns whether it has to be repeated. */
static bool release(hearth_request_state *state, uint32_t round)
{
	if (state->request_object) {
		hearth_request_object_end(state->request_object);
		state->request_object = NULL;
	}
	if (Z_TYPE(state->locals) != IS_UNDEF) {
		zval locals;

		ZVAL_COPY_VALUE(&locals, &state->locals);
		ZVAL_UNDEF(&state->locals);
		zval_ptr_dtor(&locals);
	}
	release_handlers(state);
	if (SG(rfc1867_uploaded_files)) {
		destroy_uploaded_files_hash();
	}
	hearth_input_end();
	if (UNEXPECTED(hearth_soap_connections)) {
		hearth_soap_connections_close();
	}
	if (state->superglobals_live) {
		hearth_superglobals_clear();
		state->superglobals_live = false;
	}
	zend_ini_deactivate();
	return release_rest(state, round);
}

static bool is_released(const hearth_task *task, hearth_request_state *state)
{
	return EXPECTED(Z_TYPE(state->locals) == IS_UNDEF) && !hearth_task_has_end(task) && EXPECTED(!is_at_work(state));
}

/* Does everything at the end of a request that may run PHP code; the task of the request ends with it. */
void hearth_request_end(hearth_task *task)
{
	hearth_request_state *state = task->request;
	bool again;

	state->ends = HEARTH_ENDS_CODE;
	for (uint32_t round = 0;; round += again) {
		while (UNEXPECTED(is_at_work(state))) {
			work(state);
		}
		hearth_session_end();
		if (hearth_task_has_end(task)) {
			hearth_task_run_on_end(task);
			again = false;
			continue;
		}
		/* This too may release objects of PHP code: handlers of signals. */
		hearth_process_state_put_back(state);
		if (UNEXPECTED(is_at_work(state))) {
			/* The session's objects have started tasks: those use what is released next. */
			again = false;
			continue;
		}
		again = release(state, round);
		if (EXPECTED(!again) && is_released(task, state)) {
			break;
		}
	}
	hearth_session_locks_end(state);
	if (EG(exception)) {
		hearth_report_exception();
	}
	if (UNEXPECTED(hearth_memcache_opened)) {
		hearth_memcache_close();
	}
	if (UNEXPECTED(hearth_redis_contexts)) {
		hearth_redis_contexts_release();
	}
	hearth_programs_end(state);
	hearth_process_state_restore(state);
}
