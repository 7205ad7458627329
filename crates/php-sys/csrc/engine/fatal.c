/*
 * The end of a request after a fatal error, in the order of php_request_shutdown. A jump to the bottom has unwound its C
 * stack, so PHP code can run there again, as under php-fpm. The request's memory is not freed: the error may have left
 * any structure half-written.
 */
#include "engine/engine.h"
#include "engine/temporary_files.h"
#include "cache/cache.h"
#include "request/request.h"
#include "task/call.h"
#include "task/no_suspend.h"
#include "task/sqlite.h"

#include <fcntl.h>

typedef void (*step)(hearth_request_state *state);

/*
 * If the error came from an output callback that began a buffer, the engine has freed the stack of buffers, and the next
 * ob_start() would write to it.
 */
static void mend_output(void)
{
	if (!(OG(flags) & PHP_OUTPUT_ACTIVATED)) {
		php_output_activate();
	}
}

static bool is_request(const hearth_task *task)
{
	return task->request && (task->job == HEARTH_JOB_REQUEST || task->job == HEARTH_JOB_ENTRY || task->background);
}

/* A step may meet a fatal error of its own; the next step runs all the same. */
static void attempt(hearth_task *task, step run)
{
	EG(current_execute_data) = NULL;
	EG(active_fiber) = NULL;
	EG(exception) = NULL;
	mend_output();
	zend_try {
		run(task->request);
		hearth_bail_out_of_memory();
	} zend_end_try();
	HEARTH_FORGET_OUT_OF_MEMORY();
	hearth_stack_rearm(&task->context);
	hearth_no_suspend_forget(task);
	task->busy = task->fatal_pending = false;
}

/* A status that the code has set stays, as under php-fpm. */
static void set_status(hearth_request_state *state)
{
	int *status = &SG(sapi_headers).http_response_code;

	state->failed = true;
	if (!state->responded && (*status == 0 || *status == 200)) {
		*status = 500;
	}
}

static void call_shutdown_functions(hearth_request_state *state)
{
	(void) state;
	hearth_shutdown_functions_ready();
	hearth_current->ends |= HEARTH_ENDS_SHUTDOWN;
	php_call_shutdown_functions();
	HEARTH_FORGET_OUT_OF_MEMORY();
	php_free_shutdown_functions();
}

static void flush_output(hearth_request_state *state)
{
	(void) state;
	hearth_buffers_end();
}

static void end_session(hearth_request_state *state)
{
	(void) state;
	hearth_session_end();
}

static void end_session_locks(hearth_request_state *state)
{
	hearth_session_locks_end(state);
}

static void end_cache_locks(hearth_request_state *state)
{
	(void) state;
	hearth_cache_locks_end(hearth_current);
}

/* Mutexes and what else relies on onTaskEnd(). Leases have been ended by hearth_on_broken(). */
static void run_on_end(hearth_request_state *state)
{
	(void) state;
	hearth_task_run_callbacks(hearth_current);
}

static void roll_back(hearth_request_state *state)
{
	(void) state;
	hearth_sqlite_roll_back(hearth_current, is_request(hearth_current));
}

static void release_held(hearth_request_state *state)
{
	(void) state;
	if (hearth_current->owner) {
		hearth_on_release_held(hearth_current->owner, is_request(hearth_current));
	}
}

static void remove_uploads(hearth_request_state *state)
{
	(void) state;
	if (SG(rfc1867_uploaded_files)) {
		destroy_uploaded_files_hash();
	}
}

static void respond(hearth_request_state *state)
{
	if (state->request) {
		hearth_request_answer_broken(state);
	}
}

/* ---- temporary files ---- */

static void remove_body_file(hearth_request_state *state)
{
	(void) state;
	if (SG(request_info).request_body) {
		hearth_unlink_backing(SG(request_info).request_body);
	}
}

/* ---- code that was being loaded ---- */

/* CG(compiler_options) outside of any compilation: extensions such as Xdebug have added theirs. */
static uint32_t compiler_options;

void hearth_loading_seal(void)
{
	compiler_options = CG(compiler_options);
}

static void forget_entries(HashTable *table)
{
	if (table) {
		zend_hash_clean(table);
	}
}

/* What is left of linking a class would be the next one's: its dependencies, and the names that the autoloaders are called with. */
static void forget_linking(void)
{
	forget_entries(CG(delayed_autoloads));
	forget_entries(CG(delayed_variance_obligations));
	forget_entries(CG(unlinked_uses));
	CG(current_linking_class) = NULL;
}

/*
 * No task is left in the middle of a compilation or an autoloader, so what they have of either belongs to the request that broke.
 * The engine has emptied the compiler's stacks itself (php_error_cb). An entry of in_autoload says "not found" of its class.
 */
static void forget_loading(void)
{
	forget_entries(EG(in_autoload));
	forget_linking();
	CG(compiler_options) = compiler_options;
	CG(compiled_filename) = NULL;
	CG(active_op_array) = NULL;
	CG(ast) = NULL;
	CG(ast_arena) = NULL;
	memset(&CG(context), 0, sizeof CG(context));
	memset(&CG(file_context), 0, sizeof CG(file_context));
}

/* ---- the end of a request ---- */

/* Runs at the bottom of the task's stack. */
void hearth_task_end_broken(hearth_task *task)
{
	static const step steps[] = {
		set_status, call_shutdown_functions, flush_output, end_session, end_session_locks, end_cache_locks, run_on_end, roll_back,
		release_held, remove_uploads, remove_body_file, respond, hearth_process_state_put_back,
	};
	static const step locks[] = {end_cache_locks, run_on_end, roll_back, release_held};

	forget_loading();
	if (!is_request(task) || !task->owner) {
		/* While the app boots there is no running task, and the process ends. */
		for (size_t i = 0; hearth_current && i < sizeof locks / sizeof *locks; i++) {
			attempt(task, locks[i]);
		}
		return;
	}
	/* Cancels the request's children, and closes its connections. */
	hearth_on_broken(task->owner);
	for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
		attempt(task, steps[i]);
	}
}
