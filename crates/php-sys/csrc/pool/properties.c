/*
 * Properties of mysqli that a call of the extension computes (`insert_id`, `error`, `thread_id`), read after the lease of their
 * connection: that is refused like a method, because the connection may be lent to another task by then.
 */
#include "engine/engine.h"
#include "pool/entry.h"

static const char *const classes[] = {"mysqli", "mysqli_stmt", "mysqli_result"};

/* That of the extension, the same for all of its classes. */
static zend_object_read_property_t original;

/* Whether the app's own class declares it. */
static bool is_of_app(const zend_object *object, zend_string *name)
{
	const zend_property_info *info = zend_hash_find_ptr(&object->ce->properties_info, name);

	return info && info->ce->type == ZEND_USER_CLASS;
}

static zval *read_property(zend_object *object, zend_string *name, int type, void **cache_slot, zval *value)
{
	if (UNEXPECTED(hearth_pool_calls) && !is_of_app(object, name) && hearth_pool_calls_refuse_property(object, name)) {
		return &EG(uninitialized_zval);
	}
	return original(object, name, type, cache_slot, value);
}

/* Changes the extension's own handlers, as pool/statements.c does. */
static void hook_class(zend_class_entry *ce)
{
	zend_object_handlers *handlers;
	zval object;

	if (object_init_ex(&object, ce) == FAILURE) {
		return;
	}
	handlers = (zend_object_handlers *) Z_OBJ(object)->handlers;
	if (handlers->read_property != read_property && (!original || handlers->read_property == original)) {
		original = handlers->read_property;
		handlers->read_property = read_property;
	}
	zval_ptr_dtor(&object);
}

void hearth_properties_hook(void)
{
	for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
		zend_class_entry *ce = zend_hash_str_find_ptr(CG(class_table), classes[i], strlen(classes[i]));

		if (ce) {
			hook_class(ce);
		}
	}
}
