/*
 * Elements of objects: `$vector[] = $value` and `unset($vector[$key])` make no call, so they are not covered with the methods of the class.
 * While another task is in a method of a Ds\Vector, which runs PHP code for each element, they would move or free what the method goes on with.
 * The handlers of such a class are replaced with its first object, as the one for destructors is: see task/in_use_kept.c.
 */
#include "engine/intercept.h"
#include "task/task.h"

typedef struct {
	zend_object_write_dimension_t write;
	zend_object_unset_dimension_t unset;
} writers;

/* The handlers of each class, by its table of handlers. */
static HashTable originals;

/* ---- the handlers ---- */

static bool is_refused(zend_object *object, const char *method)
{
	uint64_t other = EXPECTED(hearth_uses == 0) ? 0 : hearth_use_user_of(hearth_connection_of_object(object));

	if (UNEXPECTED(other)) {
		hearth_use_refuse_what(zend_strpprintf(0, "%s::%s", ZSTR_VAL(object->ce->name), method), other);
	}
	return other != 0;
}

static const writers *of(const zend_object *object)
{
	return zend_hash_index_find_ptr(&originals, (zend_ulong) (uintptr_t) object->handlers);
}

static void on_write(zend_object *object, zval *offset, zval *value)
{
	const writers *original;

	if (is_refused(object, "offsetSet")) {
		return;
	}
	original = of(object);
	/* An extension may have copied a table that was watched already. */
	(original ? original->write : zend_get_std_object_handlers()->write_dimension)(object, offset, value);
}

static void on_unset(zend_object *object, zval *offset)
{
	const writers *original;

	if (is_refused(object, "offsetUnset")) {
		return;
	}
	original = of(object);
	(original ? original->unset : zend_get_std_object_handlers()->unset_dimension)(object, offset);
}

bool hearth_elements_is_handler(uint64_t word)
{
	return word == (uintptr_t) on_write || word == (uintptr_t) on_unset;
}

/* ---- setup ---- */

void hearth_elements_begin(void)
{
	zend_hash_init(&originals, 16, NULL, NULL, 1);
}

void hearth_elements_watch(zend_object_handlers *handlers)
{
	const zend_object_handlers *standard = zend_get_std_object_handlers();
	writers original = {handlers->write_dimension, handlers->unset_dimension};

	/* The usual ones call offsetSet() and offsetUnset(), which are covered. */
	if (original.write == standard->write_dimension && original.unset == standard->unset_dimension) {
		return;
	}
	zend_hash_index_update_mem(&originals, (zend_ulong) (uintptr_t) handlers, &original, sizeof original);
	handlers->write_dimension = on_write;
	handlers->unset_dimension = on_unset;
}
