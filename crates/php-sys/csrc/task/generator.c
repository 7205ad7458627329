/*
 * The end of a suspended generator in the middle of an exception: the engine runs the rest of it
 * (`finally`) and frees its values.
 *
 * A function that is left by an exception destroys its variables in its caller's name, and the engine notes in the caller's
 * frame where the exception is only afterwards; where the exception goes on in another generator (`yield from`), later
 * still. An exception thrown meanwhile, or a destructor that runs, notes another place, which stays: the caller looks for
 * its catch blocks and live values at an opcode of another function, and frees what it does not own. Under `php` this takes
 * a `finally` that throws, or a destructor; here every wait in one of them may cause it.
 *
 * When a task has run out of memory, nothing of its generators runs, as nothing of its Fibers does (see task/fiber.c).
 */
#include "engine/engine.h"
#include "task/task.h"
#include "task/collector.h"
#include "task/no_suspend.h"

static zend_object *(*create_generator)(zend_class_entry *);
static void (*destroy_generator)(zend_object *);
static void (*free_generator)(zend_object *);
static zend_object_handlers handlers;
static HashTable *(*get_gc)(zend_object *, zval **, int *);

static void on_destroy(zend_object *object)
{
	if (UNEXPECTED(HEARTH_IS_OUT_OF_MEMORY())) {
		return;
	}
	hearth_exception_keep_place(destroy_generator, object);
}

static void on_free(zend_object *object)
{
	hearth_exception_keep_place(free_generator, object);
}

static HashTable *on_get_gc(zend_object *object, zval **parts, int *count)
{
	if (UNEXPECTED(hearth_collector_must_skip(((zend_generator *) object)->execute_data))) {
		*parts = NULL;
		*count = 0;
		return NULL;
	}
	return get_gc(object, parts, count);
}

static zend_object *on_create(zend_class_entry *ce)
{
	zend_object *object = create_generator(ce);

	if (UNEXPECTED(!destroy_generator)) {
		handlers = *object->handlers;
		destroy_generator = handlers.dtor_obj;
		handlers.dtor_obj = on_destroy;
		free_generator = handlers.free_obj;
		handlers.free_obj = on_free;
		get_gc = handlers.get_gc;
		handlers.get_gc = on_get_gc;
	}
	object->handlers = &handlers;
	return object;
}

void hearth_no_suspend_in_generators(void)
{
	if (!create_generator) {
		create_generator = zend_ce_generator->create_object;
		zend_ce_generator->create_object = on_create;
	}
}
