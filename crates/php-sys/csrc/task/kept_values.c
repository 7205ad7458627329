/*
 * Values that a waiting task's calls use and that have lost all their other owners meanwhile. The calls go on with them, so they are released at
 * the end of the task.
 *
 * The engine calls some methods without owning the object: a callback of a stream context, offsetExists() of an ArrayObject. In `php` only
 * that method itself could free the object; here another request could, where the object is in a variable that requests share.
 */
#include "engine/engine.h"
#include "task/call.h"
#include "task/fiber.h"
#include "task/kept_values.h"

/* A closure owns its object, and the code below a task's first call owns what it calls. */
bool hearth_is_unowned(const zend_execute_data *call)
{
	const zend_execute_data *below = call->prev_execute_data;

	return !(ZEND_CALL_INFO(call) & (ZEND_CALL_RELEASE_THIS | ZEND_CALL_CLOSURE)) && hearth_is_called_by_engine(call, below)
		&& Z_TYPE(call->This) == IS_OBJECT && below && below->prev_execute_data;
}

void hearth_unowned_hold(hearth_marks *marks, const zend_execute_data *bottom)
{
	for (const zend_execute_data *call = EG(current_execute_data); call; call = hearth_call_below(call)) {
		if (call->func && hearth_is_unowned(call)) {
			hearth_marks_hold(marks, Z_OBJ(call->This));
		}
		if (call == bottom) {
			break;
		}
	}
}

void hearth_keep_value(hearth_task *task, zend_refcounted *what)
{
	zval value;

	Z_COUNTED(value) = what;
	Z_TYPE_INFO(value) = GC_TYPE(what) == IS_OBJECT ? IS_OBJECT_EX : GC_TYPE(what) == IS_ARRAY ? IS_ARRAY_EX : IS_REFERENCE_EX;
	if (!task->kept_values) {
		ALLOC_HASHTABLE(task->kept_values);
		zend_hash_init(task->kept_values, 8, NULL, ZVAL_PTR_DTOR, 0);
	}
	zend_hash_next_index_insert_new(task->kept_values, &value);
}

void hearth_kept_values_release(hearth_task *task)
{
	HashTable *values = task->kept_values;

	task->kept_values = NULL;
	zend_hash_destroy(values);
	FREE_HASHTABLE(values);
	if (EG(exception)) {
		hearth_report_exception();
	}
}
