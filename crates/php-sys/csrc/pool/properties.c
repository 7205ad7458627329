/*
 * Properties of mysqli that a call of the extension computes (`insert_id`, `error`, `thread_id`), read after the lease of their
 * connection: that is refused like a method, because the connection may be lent to another task by then.
 */
#include "engine/engine.h"
#include "pool/entry.h"

static const char *const classes[] = {"mysqli", "mysqli_stmt", "mysqli_result"};

/* Those of the extension, the same for all of its classes. */
static zend_object_read_property_t original;
static zend_object_has_property_t original_has;
static zend_object_get_debug_info_t original_debug_info;

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

/* isset() and empty() read the property. */
static int has_property(zend_object *object, zend_string *name, int check, void **cache_slot)
{
	if (UNEXPECTED(hearth_pool_calls) && !is_of_app(object, name) && hearth_pool_calls_refuse_property(object, name)) {
		return 0;
	}
	return original_has(object, name, check, cache_slot);
}

/* var_dump() and print_r() read all of them. */
static HashTable *debug_info(zend_object *object, int *is_temporary)
{
	if (UNEXPECTED(hearth_pool_calls) && hearth_pool_calls_refuse_property(object, ZSTR_CHAR('*'))) {
		*is_temporary = 1;
		return zend_new_array(0);
	}
	return original_debug_info(object, is_temporary);
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
		original_has = handlers->has_property;
		original_debug_info = handlers->get_debug_info;
		handlers->read_property = read_property;
		handlers->has_property = has_property;
		handlers->get_debug_info = debug_info;
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
