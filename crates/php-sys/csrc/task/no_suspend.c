/* Places where a task must not be left, and the checks whether it may be. */
#include "engine/engine.h"
#include "task/collector.h"
#include "task/include_once.h"
#include "task/lazy_objects.h"
#include "task/marks.h"
#include "task/task.h"
#include "task/no_suspend.h"

#include <dlfcn.h>

static zend_op_array *(*engine_compile_file)(zend_file_handle *, int);
static zend_op_array *(*engine_compile_string)(HEARTH_COMPILE_STRING_ARGS);
static zend_class_entry *(*autoload)(zend_string *, zend_string *);

/* ---- sections in which a task must not be left ---- */

/*
 * A Fiber that is suspended in a section takes it along: other code that runs meanwhile is not in that section. Sections are
 * kept outside of the stack: a fatal error leaves them without an end, and the next code on that stack overwrites it.
 */
struct hearth_section {
	const zend_fiber_context *context;
	const void *frame; /* frame of the function that is in the section */
	hearth_section *next;
};

static hearth_section *sections, *spare_sections;

static bool is_deeper(const void *one, const void *other)
{
	return (uintptr_t) one < (uintptr_t) other;
}

/* Moves `*place` to the spare sections. */
static void spare(hearth_section **place)
{
	hearth_section *section = *place;

	*place = section->next;
	section->next = spare_sections;
	spare_sections = section;
}

/* Forgets the sections of `context` that are deeper than `frame`: a fatal error has left them. */
static void forget_deeper(const zend_fiber_context *context, const void *frame)
{
	hearth_section **place = &sections;

	while (*place) {
		if ((*place)->context == context && (!frame || is_deeper((*place)->frame, frame))) {
			spare(place);
		} else {
			place = &(*place)->next;
		}
	}
}

hearth_section *hearth_section_enter(const void *frame)
{
	hearth_section *section;

	if (UNEXPECTED(sections)) {
		forget_deeper(EG(current_fiber_context), frame);
	}
	section = spare_sections;
	if (section) {
		spare_sections = section->next;
	} else {
		section = pemalloc(sizeof *section, 1);
	}
	*section = (hearth_section){.context = EG(current_fiber_context), .frame = frame, .next = sections};
	sections = section;
	return section;
}

void hearth_section_leave(const hearth_section *section)
{
	for (hearth_section **place = &sections; *place; place = &(*place)->next) {
		if (*place == section) {
			spare(place);
			return;
		}
	}
}

void hearth_sections_forget_all(void)
{
	while (sections) {
		spare(&sections);
	}
}

/* Forgets the sections of a stack that has been destroyed. */
void hearth_sections_forget(const zend_fiber_context *context)
{
	if (UNEXPECTED(sections)) {
		forget_deeper(context, NULL);
	}
}

/* Whether the running code, or its caller on another stack, is in a section. */
bool hearth_in_section(void)
{
	const zend_fiber_context *context = EG(current_fiber_context);

	forget_deeper(context, __builtin_frame_address(0));
	for (; context; context = hearth_context_below(context)) {
		for (hearth_section *section = sections; section; section = section->next) {
			if (section->context == context) {
				return true;
			}
		}
	}
	return false;
}

static zend_op_array *on_compile_file(zend_file_handle *handle, int type)
{
	hearth_section *section = hearth_section_enter(__builtin_frame_address(0));
	zend_op_array *ops;

	ops = engine_compile_file(handle, type);
	hearth_section_leave(section);
	if (hearth_current) {
		hearth_current->includes = true;
	}
	return ops;
}

static zend_op_array *on_compile_string(HEARTH_COMPILE_STRING_ARGS)
{
	hearth_section *section = hearth_section_enter(__builtin_frame_address(0));
	zend_op_array *ops;

	ops = engine_compile_string(source, filename, position);
	hearth_section_leave(section);
	return ops;
}

/* A second task that needs the class while it is half linked, or being loaded, would not find it. */
static zend_class_entry *on_autoload(zend_string *name, zend_string *lower)
{
	hearth_section *section = hearth_section_enter(__builtin_frame_address(0));
	zend_class_entry *ce;

	ce = hearth_prelude_autoload(lower);
	if (UNEXPECTED(EG(exception))) {
		/* As for an autoloader that declares the class and throws: an opcode that gets the class checks for no exception. */
		ce = NULL;
	} else if (!ce) {
		ce = autoload(name, lower);
	}
	hearth_section_leave(section);
	return ce;
}

/* ---- whether a task may wait ---- */

static bool may_switch(void)
{
	return (EXPECTED(!sections) || !hearth_in_section()) && hearth_blocks_allow_suspend() && !hearth_stack_is_for_signals()
		&& !hearth_calls_forbid_switch()
		&& (EXPECTED(!hearth_lazy_objects_exist()) || !hearth_lazy_objects_forbid_switch());
}

/* Whether this thread may leave the running task here and now. In classic mode no other task could run meanwhile. */
bool hearth_may_suspend(void)
{
	return hearth_current && (!hearth_current->request || may_switch()) && !HEARTH_IS_OUT_OF_MEMORY() && !hearth_on_holds_lock();
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

/* The same for hooks of libc: calls that Rust makes on the task's stack pass. */
hearth_wait_mode hearth_mode_of_wait(void)
{
	const hearth_task *task = hearth_current;

	if (!task || task->busy || HEARTH_IS_OUT_OF_MEMORY()) {
		return HEARTH_WAIT_BLOCKS;
	}
	if (may_switch() && !hearth_on_holds_lock()) {
		return HEARTH_WAIT_SUSPENDS;
	}
	return task->request ? HEARTH_WAIT_BLOCKS_LIMITED : HEARTH_WAIT_BLOCKS;
}

bool hearth_hooks_may_wait(void)
{
	return hearth_mode_of_wait() == HEARTH_WAIT_SUSPENDS;
}

void hearth_refuse_wait(void)
{
	if (!HEARTH_IS_OUT_OF_MEMORY()) {
		hearth_throw(HEARTH_THROW_ERROR, hearth_on_holds_lock() ? (hearth_str){ZEND_STRL("A task cannot wait here: a library "
			"holds a lock, as APCu does while the callback of apcu_entry() runs")} : (hearth_str){ZEND_STRL("A task cannot wait here: inside an autoloader, the compiler, "
			"the garbage collector, or another place where the engine forbids a switch")});
	}
}

/* `task` began in the middle of another, when `task->blocks` were in force; those, and the other's sections, stay. */
void hearth_no_suspend_forget(const hearth_task *task)
{
	hearth_blocks_reset(task->blocks);
	forget_deeper(&task->context, __builtin_frame_address(0));
}

bool hearth_has_fatal_pending;

/* Ends the running task as any other fatal error does: this error happened where the task could not be left. */
void hearth_bail_out_if_fatal(void)
{
	if (UNEXPECTED(hearth_current && hearth_current->fatal_pending)) {
		hearth_current->fatal_pending = false;
		hearth_marks_forget();
		zend_bailout();
	}
}

void hearth_no_suspend_in_engine(void)
{
	engine_compile_file = zend_compile_file;
	zend_compile_file = on_compile_file;
	engine_compile_string = zend_compile_string;
	zend_compile_string = on_compile_string;
	autoload = zend_autoload;
	zend_autoload = on_autoload;
	hearth_class_linking_hook();
	hearth_include_once_hook();
	hearth_collector_hook();
}

/*
 * SQLite locks each connection for the length of a call, also while it waits for a lock on the file. This process uses a
 * connection on one thread only, so SQLite's multi-thread mode, without those locks, is enough. Before the first use.
 */
void hearth_no_suspend_in_sqlite(void)
{
	enum { MULTITHREAD = 2 };
	int (*config)(int, ...) = (int (*)(int, ...)) dlsym(RTLD_DEFAULT, "sqlite3_config");

	if (config) {
		config(MULTITHREAD);
	}
}
