/* Where a task must not be left, who asks, and where it may be told to stop. */
#include "task.h"

#include <dlfcn.h>

static zend_op_array *(*engine_compile_file)(zend_file_handle *, int);
static zend_op_array *(*engine_compile_string)(HEARTH_COMPILE_STRING_ARGS);
static zend_class_entry *(*autoload)(zend_string *, zend_string *);
static int (*collect_cycles)(void);
static void (*interrupt)(zend_execute_data *);

static zend_op_array *on_compile_file(zend_file_handle *handle, int type)
{
	zend_op_array *ops;

	hearth_no_switch++;
	ops = engine_compile_file(handle, type);
	hearth_no_switch--;
	return ops;
}

static zend_op_array *on_compile_string(HEARTH_COMPILE_STRING_ARGS)
{
	zend_op_array *ops;

	hearth_no_switch++;
	ops = engine_compile_string(source, filename, position);
	hearth_no_switch--;
	return ops;
}

/* A second task that needs the class while it is half linked, or being loaded, would not find it. */
static zend_class_entry *on_autoload(zend_string *name, zend_string *lower)
{
	zend_class_entry *ce;

	hearth_no_switch++;
	ce = hearth_library_autoload(lower);
	if (!ce && !EG(exception)) {
		ce = autoload(name, lower);
	}
	hearth_no_switch--;
	return ce;
}

static int on_collect_cycles(void)
{
	int count;

	hearth_no_switch++;
	count = collect_cycles();
	hearth_no_switch--;
	return count;
}

/* May this thread, here and now, leave the task that runs? In classic mode there is no other that could run meanwhile. */
bool hearth_may_leave(void)
{
	return hearth_current && (!hearth_current->request || (!hearth_no_switch && !zend_fiber_switch_blocked()))
		&& !HEARTH_IS_OUT_OF_MEMORY() && !hearth_on_holds_lock();
}

bool hearth_calls(hearth_str function)
{
	const zend_execute_data *call = EG(current_execute_data);

	return call && call->func && call->func->type == ZEND_INTERNAL_FUNCTION && call->func->common.function_name
		&& zend_string_equals_cstr(call->func->common.function_name, function.ptr, function.len);
}

int64_t hearth_handed_on(uint32_t index)
{
	zval *descriptors;
	zend_ulong number;
	zend_string *name;

	if (!hearth_calls((hearth_str){ZEND_STRL("proc_open")}) || ZEND_CALL_NUM_ARGS(EG(current_execute_data)) < 2) {
		return -1;
	}
	descriptors = ZEND_CALL_ARG(EG(current_execute_data), 2);
	ZVAL_DEREF(descriptors);
	if (Z_TYPE_P(descriptors) != IS_ARRAY) {
		return -1;
	}
	ZEND_HASH_FOREACH_KEY(Z_ARRVAL_P(descriptors), number, name) {
		if (!name && index-- == 0) {
			return (int64_t) number;
		}
	} ZEND_HASH_FOREACH_END();
	return -1;
}

/* The same, asked by hooks of libc: calls that Rust makes on the task's stack are to pass. */
bool hearth_can_wait(void)
{
	return hearth_current && !hearth_current->busy && !hearth_no_switch && !zend_fiber_switch_blocked()
		&& !HEARTH_IS_OUT_OF_MEMORY() && !hearth_on_holds_lock();
}

/* A task runs, of others that could run meanwhile, and must not be left here: its calls block them all. */
bool hearth_must_stay(void)
{
	return hearth_current && hearth_current->request && !hearth_current->busy && (hearth_no_switch || zend_fiber_switch_blocked())
		&& !HEARTH_IS_OUT_OF_MEMORY();
}

void hearth_refuse_wait(void)
{
	if (!HEARTH_IS_OUT_OF_MEMORY()) {
		hearth_throw(HEARTH_THROW_ERROR, hearth_on_holds_lock() ? (hearth_str){ZEND_STRL("A task cannot wait here: a library "
			"holds a lock, as APCu does while the callback of apcu_entry() runs")} : (hearth_str){ZEND_STRL("A task cannot wait here: inside an autoloader, the compiler, "
			"the garbage collector, or another place where the engine forbids a switch")});
	}
}

static uint32_t unblock_all(void)
{
	uint32_t count = 0;

	for (; zend_fiber_switch_blocked(); count++) {
		zend_fiber_switch_unblock();
	}
	return count;
}

static void block(uint32_t count)
{
	while (count-- > 0) {
		zend_fiber_switch_block();
	}
}

/* No task is left there, but one may be started there: what is counted by now is of those below it. */
void hearth_guard_begin(hearth_task *task)
{
	task->guards_below = hearth_no_switch;
	task->blocks_below = 0;
	if (UNEXPECTED(zend_fiber_switch_blocked())) {
		block(task->blocks_below = unblock_all());
	}
}

/* What is counted beyond that is of the task, which ends where it stands. */
void hearth_guard_forget(const hearth_task *task)
{
	hearth_no_switch = task->guards_below;
	unblock_all();
	block(task->blocks_below);
}

bool hearth_has_doomed;

/* Ends the task that runs as any other fatal error does: this one happened where it could not be left. */
void hearth_bail_out_if_doomed(void)
{
	if (UNEXPECTED(hearth_current && hearth_current->doomed)) {
		hearth_current->doomed = false;
		zend_bailout();
	}
}

static void on_interrupt(zend_execute_data *frame)
{
	if (interrupt) {
		interrupt(frame);
	}
	if (hearth_current && !hearth_current->busy) {
		hearth_bail_out_if_doomed();
		hearth_on_interrupt();
		hearth_bail_out_if_doomed();
	}
}

void hearth_watch_interrupts(void)
{
	interrupt = zend_interrupt_function;
	zend_interrupt_function = on_interrupt;
}

void hearth_guard_engine(void)
{
	engine_compile_file = zend_compile_file;
	zend_compile_file = on_compile_file;
	engine_compile_string = zend_compile_string;
	zend_compile_string = on_compile_string;
	autoload = zend_autoload;
	zend_autoload = on_autoload;
	collect_cycles = gc_collect_cycles;
	gc_collect_cycles = on_collect_cycles;
}

/*
 * SQLite locks each connection for the length of a call, also while it waits for a lock on the file. This process uses a
 * connection on one thread only, so SQLite's multi-thread mode, without those locks, is enough. Before the first use.
 */
void hearth_guard_sqlite(void)
{
	enum { MULTITHREAD = 2 };
	int (*config)(int, ...) = (int (*)(int, ...)) dlsym(RTLD_DEFAULT, "sqlite3_config");

	if (config) {
		config(MULTITHREAD);
	}
}
