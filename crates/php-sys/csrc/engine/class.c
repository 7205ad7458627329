/* What the classes that are written in C have in common. */
#include "engine/engine.h"

/*
 * A final class whose objects cannot be serialized, cloned or given properties. Its objects are made by `create`; `handlers` is where
 * their own are kept, `offset` where in them the engine's part is.
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

/* A new object of `size` bytes, all 0 before the engine's part, which must be its last. */
zend_object *hearth_object_new(zend_class_entry *ce, const zend_object_handlers *handlers, size_t size)
{
	char *self = zend_object_alloc(size, ce);
	zend_object *object = (zend_object *) (self + handlers->offset);

	memset(self, 0, (size_t) handlers->offset);
	zend_object_std_init(object, ce);
	object->handlers = handlers;
	return object;
}
