/* What the calls of the running task use: see task/in_use.c. */
#include "engine/intercept.h"
#include "task/connection_child.h"
#include "task/fiber.h"
#include "task/kept_values.h"
#include "task/marks.h"
#include "task/task.h"

/* Whether the object may hold streams that its calls do not name: curl writes to a file that curl_setopt() has named. */
static bool may_hold_streams(const zend_object *object)
{
	return object && hearth_internal_class(object)->type == ZEND_INTERNAL_CLASS && object->handlers->get_gc != zend_std_get_gc;
}

static hearth_used *add(hearth_use_list *list, const void *what, zend_object *object, const hearth_intercept *intercept)
{
	if (UNEXPECTED(list->count == list->room)) {
		list->room = list->room ? list->room * 2 : 4;
		list->used = perealloc(list->used, list->room * sizeof *list->used, 1);
	}
	list->used[list->count] = (hearth_used){
		.what = what, .object = may_hold_streams(object) ? object : NULL, .task = hearth_task_id(hearth_current),
		.shared = (intercept->use & (HEARTH_IN_USE_SHARED | HEARTH_HARMLESS)) != 0,
	};
	return &list->used[list->count++];
}

HashTable *hearth_use_array(zend_execute_data *call, uint32_t number)
{
	zval *value = hearth_argument(call, number);

	return value && Z_TYPE_P(value) == IS_ARRAY ? Z_ARRVAL_P(value) : NULL;
}

/* Adds the connections and streams that select-like functions wait for. */
static void add_arrays(hearth_use_list *list, zend_execute_data *call, const hearth_intercept *intercept)
{
	zval *value;

	for (uint32_t i = 1; i <= HEARTH_USE_ARRAYS; i++) {
		HashTable *array = hearth_use_array(call, i);

		if (!array) {
			continue;
		}
		ZEND_HASH_FOREACH_VAL(array, value) {
			const void *what;

			ZVAL_DEREF(value);
			what = hearth_connection_of_value(value);
			if (what) {
				add(list, what, NULL, intercept);
			}
		} ZEND_HASH_FOREACH_END();
	}
}

/* Adds the handles that a multi handle of curl works on. */
static void add_gathered(hearth_use_list *list, zend_object *object, const hearth_intercept *intercept)
{
	zval *held;
	int count;

	object->handlers->get_gc(object, &held, &count);
	for (int i = 0; i < count; i++) {
		const void *what = hearth_connection_of_value(&held[i]);

		if (what) {
			add(list, what, NULL, intercept);
		}
	}
}

static void add_use(hearth_use_list *list, zend_execute_data *call, const hearth_intercept *intercept)
{
	const void *what[HEARTH_MOST_USED];
	zend_object *object = hearth_use_object(call);
	uint32_t count;

	if (object && UNEXPECTED(hearth_gathers(object))) {
		add_gathered(list, object, intercept);
	}
	count = hearth_use_collect(call, what);
	for (uint32_t i = 0; i < count; i++) {
		hearth_used *used = add(list, what[i], i == 0 ? object : NULL, intercept);

		if (i == 0 && hearth_executes_bound(call)) {
			used->object = object;
			used->executes = true;
		}
	}
	if (intercept->use & HEARTH_IN_USE_ARRAYS) {
		add_arrays(list, call, intercept);
	}
}

static const hearth_intercept uses = {.use = HEARTH_IN_USE};

/* Adds what this code is inside of without a call. */
static void add_inside(hearth_use_list *list, const zend_execute_data *call)
{
	const hearth_inside *inside = NULL;

	while ((inside = hearth_inside_of(call, inside))) {
		zend_object *object;
		const void *what = hearth_inside_connection(inside, &object);

		if (what) {
			add(list, what, object, &uses);
		}
	}
}

static void add_call(hearth_use_list *list, zend_execute_data *call)
{
	const hearth_intercept *intercept = hearth_intercept_known(call->func);

	if (intercept && intercept->use) {
		add_use(list, call, intercept);
	}
}

unsigned hearth_use_list_calls(hearth_use_list *list, const zend_execute_data *from, const zend_execute_data *bottom)
{
	unsigned found = 0;

	for (zend_execute_data *call = (zend_execute_data *) from; call; call = hearth_call_below(call)) {
		if (UNEXPECTED(hearth_current->inside)) {
			add_inside(list, call);
		}
		if (call->func) {
			add_call(list, call);
			found |= (hearth_may_have_marked(call) ? HEARTH_CALLS_MARK : 0) | (hearth_is_unowned(call) ? HEARTH_CALLS_UNOWNED : 0);
		}
		if (call == bottom) {
			break;
		}
	}
	return found;
}
