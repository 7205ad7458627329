/*
 * Lazy objects (PHP 8.4) in whose initializer a task waits. The engine tells them from no other object, so another request would see them
 * half made. So an object looks uninitialized while the task waits: its properties are put away, and its handlers, which the engine calls
 * for each property that is not there, wait until the initializer has ended. Another task of the same request gets the properties as they
 * are: it may be what the initializer waits for.
 */
#include "task/lazy_objects.h"
#include "task/no_suspend.h"

typedef struct unfinished {
	zend_object *object;             /* owned by the engine's call of its initializer */
	const void *owner;               /* the task that waits in the initializer, or the Fiber that is suspended there; NULL: a fatal error ended it */
	const hearth_task *task;         /* the task that initializes it; NULL: it has ended */
	const hearth_request_state *request; /* the request of that task; NULL: it has ended */
	HashTable *dynamic;
	struct unfinished *next;
	zval properties[];
} unfinished;

static unfinished *all;
static zend_object_handlers waiting;
static HashTable none; /* the properties of an object where an exception is pending */
uint32_t hearth_lazy_objects_away, hearth_lazy_object_waiters;

static size_t size_of_properties(const zend_object *object)
{
	return object->ce->default_properties_count * sizeof(zval);
}

static unfinished *find(const zend_object *object)
{
	unfinished *one = all;

	while (one && one->object != object) {
		one = one->next;
	}
	return one;
}

static bool is_away(const zend_object *object)
{
	return object->handlers == &waiting;
}

bool hearth_lazy_object_is_recorded(const zend_object *object)
{
	return all && find(object);
}

bool hearth_lazy_object_is_waited_for(const zend_object *object)
{
	return is_away(object) && find(object)->task;
}

/* ---- put away and back ---- */

static void make_handlers(void);

static void hide(unfinished *one)
{
	zend_object *object = one->object;

	memcpy(one->properties, object->properties_table, size_of_properties(object));
	memset(object->properties_table, 0, size_of_properties(object));
	one->dynamic = object->properties;
	object->properties = NULL;
	object->handlers = &waiting;
}

static void show(const unfinished *one)
{
	zend_object *object = one->object;

	memcpy(object->properties_table, one->properties, size_of_properties(object));
	object->properties = one->dynamic;
	object->handlers = &std_object_handlers;
}

/* The engine goes over the properties of an object with the table in the object itself. */
static bool is_gone_over(const zend_object *object)
{
	return object->properties && HT_ITERATORS_COUNT(object->properties);
}

void hearth_lazy_objects_hide(void)
{
	for (unfinished *one = all; one; one = one->next) {
		if (!is_away(one->object) && !is_gone_over(one->object)) {
			hide(one);
		}
	}
}

static unfinished *record(zend_object *object, const void *owner, const hearth_task *task)
{
	unfinished *one = pemalloc(sizeof *one + size_of_properties(object), 1);

	*one = (unfinished){.object = object, .owner = owner, .task = task, .request = task ? task->request : NULL, .next = all};
	make_handlers();
	all = one;
	hearth_lazy_objects_away++;
	return one;
}

void hearth_lazy_object_put_away(zend_object *object, const void *owner, const hearth_task *task)
{
	hide(record(object, owner, task));
}

void hearth_lazy_object_record(zend_object *object, const void *owner, const hearth_task *task)
{
	record(object, owner, task);
}

static void forget(unfinished **place)
{
	unfinished *one = *place;

	*place = one->next;
	hearth_lazy_objects_away--;
	pefree(one, 1);
}

void hearth_lazy_objects_put_back(const void *owner)
{
	unfinished **place = &all;

	while (*place) {
		unfinished *one = *place;

		if (one->owner == owner) {
			if (is_away(one->object)) {
				show(one);
			}
			forget(place);
		} else {
			place = &one->next;
		}
	}
}

/* The task has ended: what its Fibers have begun waits for nothing that goes on by itself. */
void hearth_lazy_objects_leave(const hearth_task *task)
{
	bool last = task->request && task->request->tasks == 1;

	for (unfinished *one = all; one; one = one->next) {
		if (one->task == task) {
			one->task = NULL;
		}
		if (last && one->request == task->request) {
			one->request = NULL;
		}
	}
}

/* ---- waiting ---- */

/* Whether that task waits, maybe through others, for an object that the running task initializes. */
static bool waits_for_current(const hearth_task *task)
{
	while (task && task->awaits_object) {
		const unfinished *one = find(task->awaits_object);

		if (!one) {
			return hearth_lazy_object_is_being_initialized(task->awaits_object);
		}
		if (one->task == hearth_current) {
			return true; /* in a Fiber that is suspended */
		}
		task = one->task;
	}
	return false;
}

/* Waits once. False: an exception is pending. */
static bool wait_for(zend_object *object, const hearth_task *initializing)
{
	hearth_task *task = hearth_current;
	int woken;

	if (waits_for_current(initializing)) {
		zend_throw_error(NULL, "%s cannot be used here: another request initializes it and waits for an object that this request initializes",
			ZSTR_VAL(object->ce->name));
		return false;
	}
	if (!hearth_may_suspend()) {
		hearth_refuse_wait();
		return false;
	}
	task->awaits_object = object;
	hearth_lazy_object_waiters++;
	woken = hearth_on_park(-1);
	hearth_lazy_object_waiters--;
	task->awaits_object = NULL;
	hearth_bail_out_if_fatal();
	return woken != 2;
}

static bool is_own(const unfinished *one)
{
	return !hearth_current || one->task == hearth_current || (one->request && one->request == hearth_current->request);
}

/* Throws: nothing that goes on by itself ends the initializer. */
static bool refuse(const unfinished *one)
{
	zend_throw_error(NULL, "%s cannot be used here: %s", ZSTR_VAL(one->object->ce->name), one->owner
		? "a Fiber is suspended in its initializer, and the request of that Fiber has ended" : "a fatal error ended its initialization");
	return false;
}

/* Returns when no initializer of another request works on the object. False: an exception is pending. */
static bool await(zend_object *object)
{
	bool done = true;

	GC_ADDREF(object);
	while (done && is_away(object)) {
		const unfinished *one = find(object);

		if (is_own(one)) {
			show(one);
		} else {
			done = one->task ? wait_for(object, one->task) : refuse(one);
		}
	}
	if (UNEXPECTED(GC_DELREF(object) == 0)) {
		GC_ADDREF(object);
		OBJ_RELEASE(object);
		zend_throw_error(NULL, "The object was released while it was initialized");
		return false;
	}
	return done;
}

/* ---- handlers ---- */

static zval *read_property(zend_object *object, zend_string *name, int type, void **cache, zval *value)
{
	return await(object) ? object->handlers->read_property(object, name, type, cache, value) : &EG(uninitialized_zval);
}

static zval *write_property(zend_object *object, zend_string *name, zval *value, void **cache)
{
	return await(object) ? object->handlers->write_property(object, name, value, cache) : &EG(error_zval);
}

static zval *get_property_ptr_ptr(zend_object *object, zend_string *name, int type, void **cache)
{
	return await(object) ? object->handlers->get_property_ptr_ptr(object, name, type, cache) : &EG(error_zval);
}

static int has_property(zend_object *object, zend_string *name, int check, void **cache)
{
	return await(object) && object->handlers->has_property(object, name, check, cache);
}

static void unset_property(zend_object *object, zend_string *name, void **cache)
{
	if (await(object)) {
		object->handlers->unset_property(object, name, cache);
	}
}

static HashTable *get_properties(zend_object *object)
{
	return await(object) ? object->handlers->get_properties(object) : &none;
}

/* For a class with property hooks the engine asks for the properties in no other way. */
static HashTable *get_properties_for(zend_object *object, zend_prop_purpose purpose)
{
	zval value;

	ZVAL_OBJ(&value, object);
	return await(object) ? zend_get_properties_for(&value, purpose) : &none;
}

/* A clone is returned in any case; the engine discards it when an exception is pending. */
static zend_object *clone_obj(zend_object *object)
{
	zval discarded;

	if (await(object)) {
		return object->handlers->clone_obj(object);
	}
	object_init_ex(&discarded, object->ce);
	GC_ADD_FLAGS(Z_OBJ(discarded), IS_OBJ_DESTRUCTOR_CALLED);
	return Z_OBJ(discarded);
}

static int compare(zval *left, zval *right)
{
	zval *of = Z_TYPE_P(left) == IS_OBJECT && is_away(Z_OBJ_P(left)) ? left : right;

	return await(Z_OBJ_P(of)) ? zend_compare(left, right) : ZEND_UNCOMPARABLE;
}

/* What is put away has owners that the collector does not find, so it stays. */
static HashTable *get_gc(zend_object *object, zval **table, int *count)
{
	(void) object;
	*table = NULL;
	*count = 0;
	return NULL;
}

/* Frees an object that a fatal error has left half made; a Fiber that was suspended in its initializer may have owned it. */
static void free_obj(zend_object *object)
{
	unfinished **place = &all;

	while ((*place)->object != object) {
		place = &(*place)->next;
	}
	show(*place);
	forget(place);
	object->handlers->free_obj(object);
}

/* The engine notes in the table itself that it goes over it, so `zend_empty_array`, which is constant, does not do. */
static void make_empty_table(void)
{
	zend_hash_init(&none, 0, NULL, NULL, 1);
	GC_ADD_FLAGS(&none, IS_ARRAY_IMMUTABLE);
	GC_SET_REFCOUNT(&none, 2);
}

static void make_handlers(void)
{
	if (waiting.get_gc) {
		return;
	}
	make_empty_table();
	waiting = std_object_handlers;
	waiting.read_property = read_property;
	waiting.write_property = write_property;
	waiting.get_property_ptr_ptr = get_property_ptr_ptr;
	waiting.has_property = has_property;
	waiting.unset_property = unset_property;
	waiting.get_properties = get_properties;
	waiting.get_properties_for = get_properties_for;
	waiting.clone_obj = clone_obj;
	waiting.compare = compare;
	waiting.get_gc = get_gc;
	waiting.free_obj = free_obj;
}
