/* Registration and objects of the classes that are written in C. */
#include "engine/engine.h"

/*
 * Registers a final class whose objects cannot be serialized, cloned or given properties. `create` makes its objects,
 * `handlers` becomes their handler table, and `offset` is the position of the zend_object in them.
 */
zend_class_entry *hearth_register_class(const char *name, const zend_function_entry *methods, zend_object *(*create)(zend_class_entry *),
	zend_object_handlers *handlers, size_t offset)
{
	zend_class_entry ce, *registered;

	INIT_CLASS_ENTRY_EX(ce, name, strlen(name), methods);
	registered = zend_register_internal_class(&ce);
	registered->ce_flags |= ZEND_ACC_FINAL | ZEND_ACC_NO_DYNAMIC_PROPERTIES | ZEND_ACC_NOT_SERIALIZABLE;
	registered->create_object = create;
	memcpy(handlers, zend_get_std_object_handlers(), sizeof *handlers);
	handlers->offset = (int) offset;
	handlers->clone_obj = NULL;
	return registered;
}

/* Returns a new object of `size` bytes, all 0 before the zend_object, which must come last. */
zend_object *hearth_object_new(zend_class_entry *ce, const zend_object_handlers *handlers, size_t size)
{
	char *self = zend_object_alloc(size, ce);
	zend_object *object = (zend_object *) (self + handlers->offset);

	memset(self, 0, (size_t) handlers->offset);
	zend_object_std_init(object, ce);
	object->handlers = handlers;
	return object;
}
