/*
 * Processes that a request has started: those that it waits for, of all that its worker has, and those that nothing has waited for.
 *
 * A program of proc_open() goes on when its request has ended without proc_close(), as under php-fpm, and so does a child of
 * pcntl_fork(). The kernel keeps an entry of each that has ended until its parent asks. php-fpm's do with the process that started them;
 * a worker asks itself, once no PHP code can.
 */
#include "engine/programs.h"
#include "engine/replace.h"
#include "hearth.h"

#include <ext/standard/proc_open.h>
#include <sys/wait.h>

/* The resource is there as long as PHP code has it: its number, and what it is. Of pcntl_fork(): NULL. */
typedef struct { const hearth_request_state *starter; const void *handle; zend_ulong resource; } program;

/* By process id. Only once it is sealed, and not in classic mode, where hearth_current_request() is NULL. */
static HashTable programs;
static bool is_sealed;
static zif_handler proc_open_function, fork_function;

static void drop_program(zval *value)
{
	pefree(Z_PTR_P(value), 1);
}

static void note(zend_ulong pid, program one)
{
	program *kept = pemalloc(sizeof *kept, 1);

	*kept = one;
	zend_hash_index_update_ptr(&programs, pid, kept);
}

static void on_proc_open(INTERNAL_FUNCTION_PARAMETERS)
{
	proc_open_function(INTERNAL_FUNCTION_PARAM_PASSTHRU);
	if (Z_TYPE_P(return_value) == IS_RESOURCE && Z_RES_P(return_value)->ptr) {
		const php_process_handle *handle = Z_RES_P(return_value)->ptr;

		note((zend_ulong) handle->child, (program){hearth_current_request(), handle, (zend_ulong) Z_RES_HANDLE_P(return_value)});
	}
}

static void on_fork(INTERNAL_FUNCTION_PARAMETERS)
{
	fork_function(INTERNAL_FUNCTION_PARAM_PASSTHRU);
	if (Z_TYPE_P(return_value) == IS_LONG && Z_LVAL_P(return_value) > 0 && hearth_current_request()) {
		note((zend_ulong) Z_LVAL_P(return_value), (program){hearth_current_request(), NULL, 0});
	}
}

void hearth_programs_seal(void)
{
	zend_hash_init(&programs, 8, NULL, drop_program, 1);
	is_sealed = true;
	hearth_replace_function("proc_open", &proc_open_function, on_proc_open);
	hearth_replace_function("pcntl_fork", &fork_function, on_fork);
}

/* ---- the children that a request waits for ---- */

static bool waits_for_children(void)
{
	return hearth_calls((hearth_str){ZEND_STRL("pcntl_waitpid")}) || hearth_calls((hearth_str){ZEND_STRL("pcntl_wait")})
		|| hearth_calls((hearth_str){ZEND_STRL("pcntl_waitid")});
}

/*
 * Whether a wait of the running request for `pid` means this child. "Any child" is one of pcntl_fork(): the end of a program is for
 * proc_close() of the code that has started it, which would not learn its exit code.
 */
static bool is_meant(const program *one, zend_ulong child, int pid)
{
	if (one->starter != hearth_current_request()) {
		return false;
	}
	if (pid > 0) {
		return child == (zend_ulong) pid;
	}
	return !one->handle && (pid == -1 || getpgid((pid_t) child) == (pid ? -pid : getpgrp()));
}

int hearth_child(int pid, uint32_t index)
{
	zend_ulong child;
	program *one;

	if (!is_sealed || !hearth_current_request() || !waits_for_children()) {
		return -1;
	}
	ZEND_HASH_FOREACH_NUM_KEY_PTR(&programs, child, one) {
		if (is_meant(one, child, pid) && index-- == 0) {
			return (int) child;
		}
	} ZEND_HASH_FOREACH_END();
	return 0;
}

void hearth_child_ended(int pid)
{
	if (is_sealed) {
		zend_hash_index_del(&programs, (zend_ulong) pid);
	}
}

/* ---- those that nothing waits for ---- */

static bool is_held(const program *one)
{
	const zend_resource *resource = one->handle ? zend_hash_index_find_ptr(&EG(regular_list), one->resource) : NULL;

	return one->starter || (resource && resource->ptr == one->handle);
}

void hearth_programs_reap(void)
{
	zend_ulong pid;
	program *one;

	ZEND_HASH_FOREACH_NUM_KEY_PTR(&programs, pid, one) {
		/* No such child: PHP code asked first. */
		if (!is_held(one) && waitpid((pid_t) pid, NULL, WNOHANG) != 0) {
			zend_hash_index_del(&programs, pid);
		}
	} ZEND_HASH_FOREACH_END();
}

void hearth_programs_end(const hearth_request_state *state)
{
	program *one;

	if (EXPECTED(!zend_hash_num_elements(&programs))) {
		return;
	}
	ZEND_HASH_FOREACH_PTR(&programs, one) {
		if (one->starter == state) {
			one->starter = NULL;
		}
	} ZEND_HASH_FOREACH_END();
	hearth_programs_reap();
}
