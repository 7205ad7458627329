/*
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
#include "task/task.h"
#include "task/collector.h"
#include "task/no_suspend.h"

static zif_handler suspend, resume, throw;
static zend_object *(*create_fiber)(zend_class_entry *);
static void (*destroy_fiber)(zend_object *);
static zend_object_handlers handlers;
static HashTable *(*get_gc)(zend_object *, zval **, int *);

bool hearth_fiber_is_suspended(const zend_fiber *fiber)
{
	return fiber->context.status == ZEND_FIBER_STATUS_SUSPENDED && !fiber->caller;
}

static void on_destroy(zend_object *object)
{
	if (UNEXPECTED(HEARTH_IS_OUT_OF_MEMORY()) || !hearth_fiber_is_suspended((zend_fiber *) object)) {
		return;
	}
	hearth_exception_keep_place(destroy_fiber, object);
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
	bool blocks = is_in_output_callback();

	if (UNEXPECTED(blocks)) {
		zend_fiber_switch_block();
	}
	suspend(INTERNAL_FUNCTION_PARAM_PASSTHRU);
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

static void on_resume(INTERNAL_FUNCTION_PARAMETERS)
{
	if (!is_refused(execute_data)) {
		resume(INTERNAL_FUNCTION_PARAM_PASSTHRU);
	}
}

static void on_throw(INTERNAL_FUNCTION_PARAMETERS)
{
	if (!is_refused(execute_data)) {
		throw(INTERNAL_FUNCTION_PARAM_PASSTHRU);
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
	replace_method("suspend", &suspend, on_suspend);
	replace_method("resume", &resume, on_resume);
	replace_method("throw", &throw, on_throw);
	if (!create_fiber) {
		create_fiber = zend_ce_fiber->create_object;
		zend_ce_fiber->create_object = on_create;
	}
}
