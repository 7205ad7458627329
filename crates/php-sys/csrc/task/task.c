/* Tasks: PHP code on a stack of its own, which can wait in the middle of a C call and be resumed later. */
#include "engine/engine.h"
#include "mode/mode.h"
#include "request/request.h"
#include "session/session.h"
#include "task/context.h"
#include "task/include_once.h"
#include "task/lazy_objects.h"
#include "task/no_suspend.h"
#include "task/task_object.h"
#include "task/call.h"
#include "task/entry.h"

/* Elements of the first page of a task's VM stack, as large as that of a Fiber. */
#define HEARTH_VM_STACK 1024

__thread hearth_task *hearth_current;
bool hearth_broken;

/* The entry script's task and path while the script runs, and the function that runs it. */
hearth_task *hearth_entry_task;
const char *hearth_entry_path;
static void (*run_entry_script)(void);
/* The script's last error_reporting(): the engine keeps it per stack. */
static int entry_error_reporting;

static int exit_status;
/* The frame below a task's first call: an exception that reaches it stays in EG(exception) for this code to find. */
static zend_function bottom_function = { .type = ZEND_INTERNAL_FUNCTION };

hearth_request_state *hearth_current_request(void)
{
	return hearth_current ? hearth_current->request : NULL;
}

/* A task that ran out of memory ends as after any other fatal error, and the others of this process go on. */
void hearth_bail_out_of_memory(void)
{
	if (UNEXPECTED(HEARTH_IS_OUT_OF_MEMORY())) {
		HEARTH_FORGET_OUT_OF_MEMORY();
		zend_bailout();
	}
	if (UNEXPECTED(hearth_has_fatal_pending)) {
		hearth_bail_out_if_fatal();
	}
}

/* Called when the script is left, at its end or because it waits for a request. */
void hearth_entry_left(void)
{
	entry_error_reporting = EG(error_reporting);
}

static void run_entry(hearth_task *task)
{
	run_entry_script();
	if (task == hearth_loop) {
		hearth_loop_script_ended(task);
		return;
	}
	hearth_entry_left();
	zend_vm_stack_destroy();
}

static void run_job(hearth_task *task)
{
	if (task->job != HEARTH_JOB_SCRIPT && task->job != HEARTH_JOB_ENTRY) {
		php_output_activate();
	}
	switch (task->job) {
		case HEARTH_JOB_ENTRY:
			run_entry(task);
			break;
		case HEARTH_JOB_REQUEST:
			hearth_request_run(task);
			break;
		case HEARTH_JOB_SCRIPT:
			hearth_script_run(task);
			hearth_task_run_on_end(task);
			break;
		default:
			hearth_call_run(task);
	}
}

/*
 * The first page is on the C stack: in the engine's heap it would count towards memory_limit for as long as the context is kept. The engine
 * frees pages above it only. Where a script ends, the engine frees all pages, so a script's is in the heap.
 */
static void set_up_vm_stack(zval *page)
{
	zend_vm_stack first = (zend_vm_stack) page;

	first->top = ZEND_VM_STACK_ELEMENTS(first);
	first->end = page + HEARTH_VM_STACK;
	first->prev = NULL;
	EG(vm_stack) = first;
	EG(vm_stack_top) = first->top;
	EG(vm_stack_end) = first->end;
	EG(vm_stack_page_size) = HEARTH_VM_STACK * sizeof *page;
}

static void set_up_stack(hearth_task *task, zval *page)
{
	zend_execute_data *bottom;

	if (task->job == HEARTH_JOB_SCRIPT || task->job == HEARTH_JOB_ENTRY) {
		EG(vm_stack) = NULL;
		zend_vm_stack_init_ex(HEARTH_VM_STACK * sizeof *page);
	} else {
		set_up_vm_stack(page);
	}
	bottom = (zend_execute_data *) EG(vm_stack_top);
	EG(vm_stack_top) += ZEND_CALL_FRAME_SLOT;
	memset(bottom, 0, sizeof *bottom);
	/* php_error_docref() reads the name: values left by a task's first call may be freed with a warning. */
	bottom_function.common.function_name = ZSTR_EMPTY_ALLOC();
	bottom->func = &bottom_function;
	/* A script's own frame is the outermost, as on the command line: that makes its variables the global ones. */
	EG(current_execute_data) = task->job == HEARTH_JOB_SCRIPT || task->job == HEARTH_JOB_ENTRY ? NULL : bottom;
	EG(filename_override) = NULL;
	EG(active_fiber) = NULL;
	EG(jit_trace_num) = 0;
	HEARTH_SET_STACK_LIMITS(&task->context, hearth_stack_limit(&task->context));
}

/* Ends a task whose stack a fatal error has left. */
static void end_broken(hearth_task *task)
{
	zend_string *fatal = hearth_fatal_error();

	task->broken = hearth_broken = true;
	task->busy = task->fatal_pending = false;
	HEARTH_FORGET_OUT_OF_MEMORY();
	hearth_stack_rearm(&task->context);
	hearth_no_suspend_forget(task);
	hearth_use_forget(task);
	hearth_lazy_objects_break();
	hearth_session_call_forget(task);
	hearth_task_end_broken(task);
	hearth_task_object_end(task, fatal);
}

/* A task begins with the setting of its request, which `@` of the task that starts it does not change. */
static int first_error_reporting(const hearth_task *task)
{
	const zend_ini_entry *entry = NULL;

	if (task->job == HEARTH_JOB_CALL && !task->background && EG(modified_ini_directives)) {
		entry = zend_hash_str_find_ptr(EG(modified_ini_directives), ZEND_STRL("error_reporting"));
	}
	return entry && entry->value ? (int) ZEND_STRTOL(ZSTR_VAL(entry->value), NULL, 0) : hearth_error_reporting;
}

static void run_guarded(hearth_task *task)
{
	if (task->job != HEARTH_JOB_ENTRY) {
		EG(error_reporting) = first_error_reporting(task);
	}
	zend_first_try {
		run_job(task);
		hearth_bail_out_of_memory();
	} zend_catch {
		end_broken(task);
	} zend_end_try();
	task->done = true;
}

/* Runs at the bottom of every task's stack. It never returns while its context can be used again. */
void hearth_task_entry(zend_fiber_transfer *transfer)
{
	/* The entry script is no task: at boot there is nothing yet to wait for. */
	hearth_task *task = hearth_current ? hearth_current : hearth_entry_task;
	zval page[HEARTH_VM_STACK];

	set_up_stack(task, page);
	for (;;) {
		zend_fiber_transfer out = {0};

		run_guarded(task);
		out.context = task->resumer;
		ZVAL_NULL(&out.value);
		zend_fiber_switch_context(&out);
		/* Resumed: the context was reused for another job. */
		(void) transfer;
	}
}

/* Switches to the context where `task` waits. Returns when the task waits again or has ended. */
static void enter(hearth_task *task)
{
	zend_fiber_transfer transfer = {0};

	if (UNEXPECTED(task->context.status == ZEND_FIBER_STATUS_INIT)) {
		/* Xdebug asks which file a new fiber begins in and counts on an answer; outside of tasks no code runs. */
		EG(filename_override) = ZSTR_EMPTY_ALLOC();
	}
	transfer.context = task->resume_at;
	ZVAL_NULL(&transfer.value);
	zend_fiber_switch_context(&transfer);
}

/*
 * Puts the state of a task that is left away. A task that has ended has no state of its own left; a script's state stays for
 * the end of the process. `shared`: its request goes on in the task below it.
 */
static void leave_state(hearth_task *task, bool shared)
{
	hearth_body_mend();
	hearth_error_handler_show(task);
	if (!task->done || task->job == HEARTH_JOB_SCRIPT) {
		hearth_state_save(&task->saved, shared ? NULL : task->request);
		return;
	}
	hearth_task_state_end(task->broken);
	if (shared) {
		return;
	} else if (UNEXPECTED(task->broken)) {
		hearth_state_save(NULL, task->request);
	} else {
		hearth_state_end(task->request);
	}
}

/* Other requests may run next: they see no lazy object half made, and go on with those that are whole. */
static void leave_lazy_objects(const hearth_task *task)
{
	if (UNEXPECTED(hearth_lazy_objects_away)) {
		if (task->done) {
			hearth_lazy_objects_leave(task);
		}
		hearth_lazy_objects_hide();
	}
	if (UNEXPECTED(hearth_lazy_object_waiters)) {
		hearth_task_unpark_object_waiters();
	}
}

/*
 * Runs `task` until it waits or ends. May be called on top of another task (async() does), whose state is put away
 * meanwhile; that of its request stays if both tasks have the same one.
 */
hearth_step hearth_task_resume(hearth_task *task)
{
	hearth_task *outer = hearth_current;
	bool shared = outer && outer->request == task->request;

	if (UNEXPECTED(!task->has_context) && !hearth_context_make(task)) {
		hearth_task_object_end(task, ZSTR_EMPTY_ALLOC());
		return HEARTH_STEP_BROKEN;
	}
	if (outer) {
		hearth_body_mend();
		hearth_error_handler_show(outer);
		hearth_state_save(&outer->saved, shared ? NULL : outer->request);
	}
	task->outer = outer;
	/*
	 * Blocks that the engine has outside of any task, as from the end of one script to the beginning of the next,
	 * are not in force in a task.
	 */
	task->blocks = outer ? hearth_blocks_in_force() : (hearth_blocks){0};
	task->resumer = EG(current_fiber_context);
	hearth_current = task;
	if (task->request) {
		hearth_state_load(&task->saved, shared ? NULL : task->request);
		hearth_error_handler_hide(task);
	}
	enter(task);
	exit_status = EG(exit_status);
	leave_lazy_objects(task);
	if (task->request) {
		leave_state(task, shared);
	}
	hearth_current = outer;
	if (UNEXPECTED(hearth_file_waiters)) {
		hearth_task_unpark_file_waiters();
	}
	if (outer) {
		hearth_state_load(&outer->saved, shared ? NULL : outer->request);
		hearth_error_handler_hide(outer);
	}
	if (!task->done) {
		return HEARTH_STEP_WAITING;
	}
	if (task->job != HEARTH_JOB_ENTRY) {
		task->resume_at = &task->context;
	}
	return task->broken ? HEARTH_STEP_BROKEN : HEARTH_STEP_DONE;
}

int hearth_exit_status(void)
{
	return exit_status;
}

/* Leaves `task`, whose stack this is, and lets its resumer go on. Returns when the task is resumed. */
void hearth_task_park(hearth_task *task)
{
	zend_fiber_transfer transfer = {0};
	hearth_blocks blocks = hearth_blocks_put_away(task->blocks);
	int error = errno;

	hearth_stack_rearm(&task->context);
	if (task->request) {
		task->request->ignores_client = PG(ignore_user_abort);
	}
	task->resume_at = EG(current_fiber_context);
	task->waits_in = EG(current_execute_data);
	transfer.context = task->resumer;
	ZVAL_NULL(&transfer.value);
	zend_fiber_switch_context(&transfer);
	task->waits_in = NULL;
	hearth_blocks_put_back(blocks);
	errno = error;
}

/* Returns the value from when a task of its request waited last; the ini setting itself is put away meanwhile. */
bool hearth_task_ignores_client(const hearth_task *task)
{
	return task->request && task->request->ignores_client;
}

/* Called only where hearth_hooks_may_wait returned true. */
void hearth_task_suspend(void)
{
	hearth_task *task = hearth_current;

	hearth_use_begins(task);
	if (UNEXPECTED(hearth_lazy_objects_exist())) {
		hearth_lazy_objects_put_away(task);
	}
	if (UNEXPECTED(task->includes)) {
		hearth_include_once_begins(task);
	}
	hearth_task_park(task);
	if (UNEXPECTED(task->waits_in_file)) {
		hearth_include_once_ends(task);
	}
	if (UNEXPECTED(hearth_lazy_objects_away)) {
		hearth_lazy_objects_put_back(task);
	}
	hearth_use_ends(task);
}

/* The last task of a request frees the request's state, unless one of its tasks broke: that one's memory is still there. */
static void leave_request(hearth_task *task)
{
	hearth_request_state *request = task->request;

	task->request = NULL;
	task->owner = NULL;
	if (!request) {
		return;
	}
	request->broken |= task->broken;
	if (--request->tasks == 0 && !request->broken) {
		hearth_request_state_free(request);
	}
}

/* After HEARTH_STEP_DONE the task goes to the free list; not a broken one, whose stack is not sound. */
void hearth_task_free(hearth_task *task)
{
	if (task->job == HEARTH_JOB_SCRIPT || task->job == HEARTH_JOB_CLASSIC) {
		/* hearth_cli_finish ends what a script leaves; a classic request leaves nothing. */
		return;
	}
	if (task->job == HEARTH_JOB_ENTRY) {
		/* The script waits on this stack for the next request, or has ended. */
		leave_request(task);
		return;
	}
	task->job = HEARTH_JOB_NONE;
	task->object = NULL;
	leave_request(task);
	if (!task->broken) {
		hearth_stack_trim(&task->context);
		hearth_task_keep(task);
	}
}

/* Marks that Rust runs on the task's stack: libc hooks let its calls pass. Returns the previous value. */
bool hearth_busy(bool busy)
{
	bool before;

	if (!hearth_current) {
		return false;
	}
	before = hearth_current->busy;
	hearth_current->busy = busy;
	return before;
}

/* Makes the VM call zend_interrupt_function at its next check. Any thread may call it. */
void hearth_interrupt(void)
{
	zend_atomic_bool_store_ex(&EG(vm_interrupt), true);
}

bool hearth_is_unwinding(void)
{
	return EG(exception) != NULL;
}

hearth_task *hearth_task_request(void *owner, void *request)
{
	hearth_request_state *state = hearth_request_state_new(request);
	hearth_task *task = hearth_loop_request(state, owner);

	if (!task) {
		task = hearth_task_new(HEARTH_JOB_REQUEST, state);
		task->owner = owner;
	}
	return task;
}

/*
 * Runs the entry script on a stack of its own, in which a FrankenPHP loop can stay; returns when the script has
 * ended or waits for a request.
 */
void hearth_entry_run(void (*script)(void))
{
	hearth_task *task = hearth_entry_task = hearth_task_new(HEARTH_JOB_ENTRY, NULL);

	run_entry_script = script;
	if (!hearth_context_make(task)) {
		return;
	}
	task->resumer = EG(current_fiber_context);
	enter(task);
	EG(error_reporting) = entry_error_reporting;
	if (!hearth_loop) {
		zend_fiber_destroy_context(&task->context);
		task->has_context = false;
		task->job = HEARTH_JOB_NONE;
		hearth_task_keep(task);
		hearth_entry_task = NULL;
	}
}
