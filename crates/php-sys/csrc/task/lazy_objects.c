/*
 * Lazy objects (PHP 8.4) that boot has made, which requests share. While one is initialized, the engine tells it from no other object:
 * another request would see it half made. So a task is not left in the initializer.
 */
#include "task/lazy_objects.h"

/* The numbers of those that are lazy still, or proxies. */
static uint32_t *numbers;
uint32_t hearth_lazy_object_count;

void hearth_lazy_objects_seal(void)
{
	HashTable *all = HEARTH_LAZY_OBJECTS();
	zend_ulong number;

	if (!all || zend_hash_num_elements(all) == 0) {
		return;
	}
	numbers = safe_pemalloc(zend_hash_num_elements(all), sizeof *numbers, 0, 1);
	ZEND_HASH_FOREACH_NUM_KEY(all, number) {
		numbers[hearth_lazy_object_count++] = (uint32_t) number;
	} ZEND_HASH_FOREACH_END();
}

/* Returns the first argument of a call, also if the function declares none; NULL if the call has none. */
static const zval *first_argument(const zend_execute_data *call)
{
	const zend_op_array *code = &call->func->op_array;

	if (ZEND_CALL_NUM_ARGS(call) == 0) {
		return NULL;
	}
	return ZEND_USER_CODE(call->func->type) && code->num_args == 0
		? ZEND_CALL_VAR_NUM(call, code->last_var + code->T) : ZEND_CALL_ARG(call, 1);
}

/* Whether the running code is called by the object's initializer: that gets the object as its argument. */
static bool runs_in_initializer(const zend_object *object)
{
	for (const zend_execute_data *call = EG(current_execute_data); call; call = call->prev_execute_data) {
		const zval *argument = call->func ? first_argument(call) : NULL;

		if (argument && Z_TYPE_P(argument) == IS_OBJECT && Z_OBJ_P(argument) == object) {
			return true;
		}
	}
	return false;
}

static bool is_initialized_here(const zend_object *object)
{
	return UNEXPECTED(!HEARTH_IS_LAZY(object)) && runs_in_initializer(object);
}

bool hearth_initializes_lazy_object(void)
{
	uint32_t i = 0;

	while (i < hearth_lazy_object_count) {
		const zend_object *object = EG(objects_store).object_buckets[numbers[i]];

		/* An initialized ghost has left the table of the engine, and is as any other object. */
		if (!zend_hash_index_exists(HEARTH_LAZY_OBJECTS(), numbers[i])) {
			numbers[i] = numbers[--hearth_lazy_object_count];
		} else if (is_initialized_here(object)) {
			return true;
		} else {
			i++;
		}
	}
	return false;
}
