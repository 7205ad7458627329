/*
 * Statements and results that code still holds after the lease of their connection. To free one may send a command, and wait
 * for the answer, while the pool resets the connection or another task has it. So an object released then is kept at the
 * pool's entry, which frees it when nothing else uses the connection: php/src/Pool/Reset.php.
 *
 * The destructor handler of the extension's class keeps the object by adding a reference.
 */
#include "engine/engine.h"
#include "pool/entry.h"

typedef struct {
	const char *name;
	const zend_class_entry *ce;
	zend_object_dtor_obj_t destroy;
} statement_class;

/* PgSql\Result and the classes of SQLite3 are not here: they send nothing when they are freed. */
static statement_class classes[] = {{.name = "pdostatement"}, {.name = "mysqli_stmt"}, {.name = "mysqli_result"}};

/* Creation times by object handle; only of objects made while connections of pools were known. */
static HashTable made;

static const statement_class *class_of(const zend_class_entry *ce)
{
	for (; ce; ce = ce->parent) {
		for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
			if (classes[i].ce == ce) {
				return &classes[i];
			}
		}
	}
	return NULL;
}

void hearth_statement_made(const zend_execute_data *call, const zval *returned)
{
	bool constructs = Z_TYPE(call->This) == IS_OBJECT && (call->func->common.fn_flags & ZEND_ACC_CTOR);
	const zend_object *object = constructs ? Z_OBJ(call->This) : Z_TYPE_P(returned) == IS_OBJECT ? Z_OBJ_P(returned) : NULL;
	zval at;

	if (!object || !class_of(object->ce)) {
		return;
	}
	if (made.nTableSize == 0) {
		zend_hash_init(&made, 64, NULL, NULL, 1);
		/* Not a packed array, where an element far from the others costs the memory in between. */
		zend_hash_real_init_mixed(&made);
	}
	ZVAL_DOUBLE(&at, hearth_monotonic());
	zend_hash_index_update(&made, object->handle, &at);
}

/* Returns when the object was made, and forgets it; 0: before the first lease of a pool had ended, or outside of tasks. */
static double take_creation(const zend_object *object)
{
	const zval *at = made.nTableSize ? zend_hash_index_find(&made, object->handle) : NULL;
	double seconds = at ? Z_DVAL_P(at) : 0;

	if (at) {
		zend_hash_index_del(&made, object->handle);
	}
	return seconds;
}

static void on_destroy(zend_object *object)
{
	uint32_t references = GC_REFCOUNT(object);
	double created;

	class_of(object->ce)->destroy(object);
	/* A destructor of the app may have stored it elsewhere, or it waits until its connection is not in use: task/in_use_kept.c. */
	if (EXPECTED(!hearth_pool_calls) || GC_REFCOUNT(object) != references) {
		return;
	}
	created = take_creation(object);
	if (hearth_current) {
		hearth_pool_calls_keep(object, created);
	}
}

/*
 * Changes the extension's own handlers, in memory that the extension itself writes at startup: mysqli makes its objects
 * without the function that its classes name for that.
 */
static void hook_class(statement_class *class, zend_class_entry *ce)
{
	zend_object_handlers *handlers;
	zval object;

	if (object_init_ex(&object, ce) == FAILURE) {
		return;
	}
	handlers = (zend_object_handlers *) Z_OBJ(object)->handlers;
	if (handlers->dtor_obj != on_destroy) {
		class->ce = ce;
		class->destroy = handlers->dtor_obj;
		handlers->dtor_obj = on_destroy;
	}
	zval_ptr_dtor(&object);
}

void hearth_statements_hook(void)
{
	for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
		zend_class_entry *ce = zend_hash_str_find_ptr(CG(class_table), classes[i].name, strlen(classes[i].name));

		if (ce) {
			hook_class(&classes[i], ce);
		}
	}
}
