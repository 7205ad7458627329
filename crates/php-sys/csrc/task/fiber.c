/*
 * Fibers of PHP code beside what the engine keeps outside of them.
 *
 * The end of a suspended Fiber in the middle of an exception: the engine runs the rest of the Fiber.
 *
 * The engine notes the opcode of a frame at which an exception is pending. A Fiber that is destroyed there, with the
 * variables of a function that is being left, throws an exception of its own inside, and the noted opcode is lost: the frame
 * goes on at any place, or frees what it does not have. Under `php` this takes an exception that passes a destructor and
 * then a Fiber; here every wait that is ended early may cause it.
 *
 * A task that ran out of memory is being left too (see compat.h), without a memory limit and without interrupts: nothing of
 * a Fiber runs then. Under `php` none does after a fatal error.
 */
#include "engine/engine.h"
#include "engine/replace.h"
#include "state_table.h"
#include "task/task.h"
#include "task/collector.h"
#include "state/match_data.h"
#include "task/fiber.h"
#include "task/lazy_objects.h"
#include "task/no_suspend.h"

#include <ext/standard/file.h>

const zend_function *hearth_fiber_function;
static zif_handler start, suspend, resume, throw;
static zend_object *(*create_fiber)(zend_class_entry *);
static void (*destroy_fiber)(zend_object *);
static zend_object_handlers handlers;
static HashTable *(*get_gc)(zend_object *, zval **, int *);

/*
 * What functions of the engine note while they call PHP code: the rows of state/engine.toml that go with a Fiber. The engine does not
 * exchange it with Fibers: code that goes on while a Fiber is suspended in serialize() would be taken for a part of that call, and
 * the Fiber, resumed by another task, for a part of that one's.
 */
#define DECLARE(live, name) __typeof__(live) name;
#define SAVE(live, name) calls.name = live;
#define LOAD(live, name) live = calls->name;

typedef struct { HEARTH_FIBER_FIELDS(DECLARE) void *match_data; } calls_under_way;

static calls_under_way save_calls(void)
{
	calls_under_way calls;

	HEARTH_FIBER_FIELDS(SAVE)
	calls.match_data = UNEXPECTED(*hearth_match_data_used) ? hearth_match_data_take() : NULL;
	return calls;
}

static void load_calls(const calls_under_way *calls)
{
	HEARTH_FIBER_FIELDS(LOAD)
	if (UNEXPECTED(calls->match_data)) {
		hearth_match_data_put_back(calls->match_data);
	}
}

bool hearth_fiber_is_suspended(const zend_fiber *fiber)
{
	return fiber->context.status == ZEND_FIBER_STATUS_SUSPENDED && !fiber->caller;
}

/* See hearth_call_below. */
static void link_destroyed(const zend_fiber *fiber)
{
	hearth_fiber_function = fiber->stack_bottom->func;
	fiber->stack_bottom->symbol_table = (zend_array *) EG(current_execute_data);
}

static void on_destroy(zend_object *object)
{
	calls_under_way outer;

	if (UNEXPECTED(HEARTH_IS_OUT_OF_MEMORY()) || !hearth_fiber_is_suspended((zend_fiber *) object)) {
		return;
	}
	outer = save_calls();
	link_destroyed((const zend_fiber *) object);
	hearth_exception_keep_place(destroy_fiber, object);
	load_calls(&outer);
}

static HashTable *on_get_gc(zend_object *object, zval **parts, int *count)
{
	const zend_fiber *fiber = (const zend_fiber *) object;
	const zend_execute_data *frame = hearth_fiber_is_suspended(fiber) ? fiber->execute_data : NULL;

	for (; frame; frame = frame->prev_execute_data) {
		if (UNEXPECTED(hearth_collector_must_skip(frame))) {
			*parts = NULL;
			*count = 0;
			return NULL;
		}
	}
	return get_gc(object, parts, count);
}

static zend_object *on_create(zend_class_entry *ce)
{
	zend_object *object = create_fiber(ce);

	if (UNEXPECTED(!destroy_fiber)) {
		handlers = *object->handlers;
		destroy_fiber = handlers.dtor_obj;
		handlers.dtor_obj = on_destroy;
		get_gc = handlers.get_gc;
		handlers.get_gc = on_get_gc;
	}
	object->handlers = &handlers;
	return object;
}

/* Whether the running Fiber is inside an output callback that runs on its own stack. */
static bool is_in_output_callback(void)
{
	const php_output_handler *handler = OG(running);
	const zend_execute_data *call = EG(current_execute_data), *bottom = EG(active_fiber) ? EG(active_fiber)->stack_bottom : NULL;
	const zend_function *callback;

	if (EXPECTED(!handler) || !bottom || !(handler->flags & PHP_OUTPUT_HANDLER_USER)) {
		return false;
	}
	callback = handler->func.user->fcc.function_handler;
	while (call && call != bottom && call->func != callback) {
		call = call->prev_execute_data;
	}
	return call && call != bottom;
}

/*
 * The engine frees a buffer at the end of its task, also while its callback runs: a Fiber that went on there would read freed
 * memory. While a Fiber is suspended there, each other use of buffers is a fatal error, under `php` too.
 */
static void on_suspend(INTERNAL_FUNCTION_PARAMETERS)
{
	const zend_fiber *fiber = EG(active_fiber);
	bool blocks = is_in_output_callback();
	calls_under_way own = save_calls();

	if (UNEXPECTED(blocks)) {
		zend_fiber_switch_block();
	}
	if (UNEXPECTED(hearth_lazy_objects_exist()) && fiber) {
		hearth_lazy_objects_suspend(fiber);
	}
	suspend(INTERNAL_FUNCTION_PARAM_PASSTHRU);
	if (UNEXPECTED(hearth_lazy_objects_away) && fiber) {
		hearth_lazy_objects_put_back(fiber);
	}
	load_calls(&own);
	if (UNEXPECTED(blocks)) {
		zend_fiber_switch_unblock();
	}
}

/* Whether the Fiber must not go on in this request; if so, an exception is pending. */
static bool is_refused(const zend_execute_data *call)
{
	if (EXPECTED(!hearth_session_keeps_fiber((const zend_fiber *) Z_OBJ(call->This)))) {
		return false;
	}
	zend_throw_error(NULL, "Cannot resume a fiber that is opening or closing the session of another request");
	return true;
}

/* Calls a method that goes on with a Fiber, and then with what this code was in the middle of. */
static void go_on(INTERNAL_FUNCTION_PARAMETERS, zif_handler original)
{
	calls_under_way outer = save_calls();

	original(INTERNAL_FUNCTION_PARAM_PASSTHRU);
	load_calls(&outer);
}

static void on_start(INTERNAL_FUNCTION_PARAMETERS)
{
	calls_under_way outer = save_calls(), none = {0};

	load_calls(&none);
	start(INTERNAL_FUNCTION_PARAM_PASSTHRU);
	load_calls(&outer);
}

static void on_resume(INTERNAL_FUNCTION_PARAMETERS)
{
	if (!is_refused(execute_data)) {
		go_on(INTERNAL_FUNCTION_PARAM_PASSTHRU, resume);
	}
}

static void on_throw(INTERNAL_FUNCTION_PARAMETERS)
{
	if (!is_refused(execute_data)) {
		go_on(INTERNAL_FUNCTION_PARAM_PASSTHRU, throw);
	}
}

static void replace_method(const char *name, zif_handler *original, zif_handler handler)
{
	zend_function *method = zend_hash_str_find_ptr(&zend_ce_fiber->function_table, name, strlen(name));

	if (method) {
		hearth_replace_handler(method, original, handler);
	}
}

void hearth_no_suspend_in_fibers(void)
{
	replace_method("start", &start, on_start);
	replace_method("suspend", &suspend, on_suspend);
	replace_method("resume", &resume, on_resume);
	replace_method("throw", &throw, on_throw);
	if (!create_fiber) {
		create_fiber = zend_ce_fiber->create_object;
		zend_ce_fiber->create_object = on_create;
	}
}
