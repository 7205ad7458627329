/*
 * The end of a suspended generator, which runs what is left of it (`finally`), in the middle of an exception.
 *
 * A function that is left by an exception destroys its variables in its caller's name, and the engine notes in the caller's frame
 * where the exception is only afterwards. The destructor of an ordinary object has it noted first. PHP 8.2's of a generator does
 * not: where its code throws, the caller looks for its catch blocks and live values at an opcode of the function that was left, and
 * frees what it does not own. Under `php` it takes a `finally` that throws; here every wait in one may.
 */
#include "engine/engine.h"
#include "task/task.h"
#include "task/no_suspend.h"

static zend_object *(*create_generator)(zend_class_entry *);
static void (*destroy_generator)(zend_object *);
static zend_object_handlers handlers;

static void on_destroy(zend_object *object)
{
	hearth_exception_pass_on();
	destroy_generator(object);
}

static zend_object *on_create(zend_class_entry *ce)
{
	zend_object *object = create_generator(ce);

	if (UNEXPECTED(!destroy_generator)) {
		handlers = *object->handlers;
		destroy_generator = handlers.dtor_obj;
		handlers.dtor_obj = on_destroy;
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
