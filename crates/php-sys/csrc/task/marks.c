/*
 * Marks against recursion. var_dump(), json_encode() and others mark the arrays and objects that they are in, and the engine
 * marks a property of an object while its __get() runs. The mark is in the array or object itself: where requests share
 * that, another request's call would take it for recursion of its own, and print "*RECURSION*" or bypass __get(). So a task
 * that waits in such a call takes its marks along.
 *
 * Marks are found from the arguments of the calls, from one marked value to the next. The result of a method
 * (jsonSerialize(), __debugInfo()) need not be inside a marked value: where an object is marked, everything reachable from
 * it is searched, up to a limit.
 */
#include "engine/engine.h"
#include "engine/intercept.h"
#include "task/fiber.h"
#include "task/marks.h"

#include <ext/spl/spl_observer.h>

/* The most arrays and objects that are searched for marks. */
#define MOST_REACHED 10000

/* ---- the list ---- */

static void add(hearth_marks *marks, hearth_mark mark)
{
	if (marks->count == marks->room) {
		marks->room = marks->room ? 2 * marks->room : 16;
		marks->list = perealloc(marks->list, marks->room * sizeof *marks->list, 1);
	}
	marks->list[marks->count++] = mark;
	if (mark.what) {
		GC_ADDREF(mark.what);
	}
}

/* Returns whether `what` was marked. */
static bool unmark(zend_refcounted *what)
{
	if ((GC_FLAGS(what) & GC_IMMUTABLE) || !GC_IS_RECURSIVE(what)) {
		return false;
	}
	GC_UNPROTECT_RECURSION(what);
	return true;
}

static void take(hearth_marks *marks, zend_refcounted *what)
{
	if (unmark(what)) {
		add(marks, (hearth_mark){ .what = what });
	}
}

static void take_properties(hearth_marks *marks, zend_object *object)
{
	if (object->properties && unmark((zend_refcounted *) object->properties)) {
		add(marks, (hearth_mark){ .what = (zend_refcounted *) object, .table = object->properties });
	}
}

void hearth_marks_take_bits(hearth_marks *marks, zend_object *object, uint32_t *guard, uint32_t mask)
{
	uint32_t bits = *guard & mask;

	if (bits) {
		*guard &= ~bits;
		add(marks, (hearth_mark){ .what = (zend_refcounted *) object, .guard = guard, .bits = bits });
	}
}

static zval *guard_place(zend_object *object)
{
	return object->ce->ce_flags & ZEND_ACC_USE_GUARDS ? object->properties_table + object->ce->default_properties_count : NULL;
}

/* ---- recursion ---- */

/* Whether the object shows a table of its own, as an ArrayObject does, or compares it: that table is marked in the object's place. */
static bool has_own_table(const zend_object *object)
{
	return object->handlers->get_properties != zend_std_get_properties || object->handlers->get_properties_for
		|| instanceof_function(object->ce, spl_ce_SplObjectStorage);
}

static void take_object(hearth_marks *marks, zend_object *object)
{
	zval *place = guard_place(object);
	uint32_t before = marks->count;

	take(marks, (zend_refcounted *) object);
	take_properties(marks, object);
	if (place && HEARTH_GUARD_RECURSION_MASK) {
		hearth_marks_take_bits(marks, object, &HEARTH_GUARD_P(place), HEARTH_GUARD_RECURSION_MASK);
	}
	marks->in_object |= marks->count > before || has_own_table(object);
}

/* Everything that has been reached is searched, once. */
static void reach(hearth_marks *marks, zval *value)
{
	zend_refcounted *what = Z_COUNTED_P(value);

	if ((Z_TYPE_P(value) != IS_ARRAY && Z_TYPE_P(value) != IS_OBJECT) || !Z_REFCOUNTED_P(value)
			|| zend_hash_num_elements(marks->reached) == MOST_REACHED) {
		return;
	}
	zend_hash_index_add_ptr(marks->reached, (zend_ulong) (uintptr_t) what, what);
}

static void take_value(hearth_marks *marks, zval *value)
{
	if (Z_TYPE_P(value) == IS_INDIRECT) {
		value = Z_INDIRECT_P(value);
	}
	ZVAL_DEREF(value);
	if (Z_TYPE_P(value) == IS_ARRAY) {
		take(marks, Z_COUNTED_P(value));
	} else if (Z_TYPE_P(value) == IS_OBJECT) {
		take_object(marks, Z_OBJ_P(value));
	}
	if (marks->reached) {
		reach(marks, value);
	}
}

static void take_elements(hearth_marks *marks, HashTable *table)
{
	zval *element;

	ZEND_HASH_FOREACH_VAL(table, element) {
		take_value(marks, element);
	} ZEND_HASH_FOREACH_END();
}

static void take_parts(hearth_marks *marks, zend_object *object)
{
	int count;
	zval *parts;
	HashTable *table = object->handlers->get_gc(object, &parts, &count);

	for (int i = 0; i < count; i++) {
		take_value(marks, &parts[i]);
	}
	if (table) {
		take_elements(marks, table);
	}
}

static void take_inside(hearth_marks *marks, zend_refcounted *what)
{
	if (GC_TYPE(what) == IS_ARRAY) {
		take_elements(marks, (HashTable *) what);
	} else if (GC_TYPE(what) == IS_REFERENCE) {
		take_value(marks, &((zend_reference *) what)->val);
	} else {
		take_parts(marks, (zend_object *) what);
	}
}

/* Takes the marks inside the marked values from `first` on, and inside those, and so on. */
static void take_all_inside(hearth_marks *marks, uint32_t first)
{
	for (uint32_t i = first; i < marks->count; i++) {
		take_inside(marks, marks->list[i].what);
	}
}

static void take_argument(hearth_marks *marks, zval *value, bool with_elements)
{
	uint32_t first = marks->count;

	take_value(marks, value);
	ZVAL_DEREF(value);
	if (with_elements && Z_TYPE_P(value) == IS_ARRAY) {
		take_elements(marks, Z_ARRVAL_P(value));
	} else if (with_elements && Z_TYPE_P(value) == IS_OBJECT) {
		take_parts(marks, Z_OBJ_P(value));
	}
	take_all_inside(marks, first);
}

/*
 * array_walk_recursive() walks variables and keeps their references. It begins anew in an array that is no longer the same
 * one, and an additional owner of the array would make its next writer replace it. So the reference is kept, not the array.
 */
static void take_walked(hearth_marks *marks, HashTable *table)
{
	zval *element;

	ZEND_HASH_FOREACH_VAL_IND(table, element) {
		zval *value = Z_ISREF_P(element) ? Z_REFVAL_P(element) : NULL;

		if (value && Z_TYPE_P(value) == IS_ARRAY && unmark(Z_COUNTED_P(value))) {
			add(marks, (hearth_mark){ .what = (zend_refcounted *) Z_REF_P(element), .table = Z_ARRVAL_P(value) });
			take_walked(marks, Z_ARRVAL_P(value));
		}
	} ZEND_HASH_FOREACH_END();
}

static void take_walked_argument(hearth_marks *marks, zval *value)
{
	ZVAL_DEREF(value);
	if (Z_TYPE_P(value) == IS_ARRAY) {
		take_walked(marks, Z_ARRVAL_P(value));
	} else if (Z_TYPE_P(value) == IS_OBJECT && Z_OBJ_P(value)->properties) {
		take_walked(marks, Z_OBJ_P(value)->properties);
	}
}

static void take_arguments(hearth_marks *marks, zend_execute_data *call, bool with_elements)
{
	for (uint32_t i = 1; i <= ZEND_CALL_NUM_ARGS(call); i++) {
		take_argument(marks, ZEND_CALL_ARG(call, i), with_elements);
	}
}

static void take_operand(hearth_marks *marks, zend_execute_data *call, zend_uchar type, znode_op operand)
{
	/* A constant is never marked. */
	if (type & (IS_CV | IS_VAR | IS_TMP_VAR)) {
		take_argument(marks, ZEND_CALL_VAR(call, operand.var), false);
	}
}

/* A comparison runs code of its operands: a __toString(), or an error handler. */
static void take_compared(hearth_marks *marks, zend_execute_data *call)
{
	const zend_op *opline = call->opline;

	take_operand(marks, call, opline->op1_type, opline->op1);
	take_operand(marks, call, opline->op2_type, opline->op2);
}

/* ---- properties ---- */

/*
 * The engine keeps a pointer to the guard of the property whose method runs. With one property, the object's own guard is
 * used for whichever property is asked for; with a second property there is a table, in which each property keeps its guard.
 */
static void separate_guards(zend_object *object, const zval *place)
{
	zend_string *other = zend_string_equals(Z_STR_P(place), ZSTR_EMPTY_ALLOC()) ? ZSTR_CHAR('x') : ZSTR_EMPTY_ALLOC();

	if (HEARTH_GUARD_P(place) & HEARTH_GUARD_PROPERTY_MASK) {
		zend_get_property_guard(object, other);
	}
}

static void take_guards(hearth_marks *marks, zend_object *object)
{
	zval *place = guard_place(object);
	void *guard;

	if (place && Z_TYPE_P(place) == IS_STRING) {
		separate_guards(object, place);
	}
	if (!place || Z_TYPE_P(place) != IS_ARRAY) {
		return;
	}
	ZEND_HASH_FOREACH_PTR(Z_ARRVAL_P(place), guard) {
		/* The lowest bit means that the guard is the object's own. */
		hearth_marks_take_bits(marks, object, (uint32_t *) ((uintptr_t) guard & ~(uintptr_t) 1), HEARTH_GUARD_PROPERTY_MASK);
	} ZEND_HASH_FOREACH_END();
}

/* ---- tasks ---- */

static void take_used(hearth_marks *marks, zend_execute_data *call)
{
	uintptr_t marked;

	if (ZEND_USER_CODE(call->func->type)) {
		if (hearth_compares(call->opline)) {
			take_compared(marks, call);
		}
		return;
	}
	marked = hearth_marks_of(call->func);
	if (marked == HEARTH_MARKS_WALKED) {
		take_walked_argument(marks, ZEND_CALL_ARG(call, 1));
	} else if (marked) {
		take_arguments(marks, call, marked == HEARTH_MARKS_ELEMENTS);
	}
}

static void take_call(hearth_marks *marks, zend_execute_data *call)
{
	take_used(marks, call);
	if (ZEND_USER_CODE(call->func->type) && Z_TYPE(call->This) == IS_OBJECT) {
		take_argument(marks, &call->This, false);
		if (hearth_is_guarded(call->func)) {
			take_guards(marks, Z_OBJ(call->This));
		}
	}
}

void hearth_marks_hold(hearth_marks *marks, zend_object *object)
{
	add(marks, (hearth_mark){ .what = (zend_refcounted *) object, .held = true });
}

bool hearth_marks_in_object(zend_execute_data *call)
{
	hearth_marks marks = {0};
	bool in_object;

	take_used(&marks, call);
	in_object = marks.in_object;
	hearth_marks_put_back(&marks);
	return in_object;
}

static void take_calls(hearth_marks *marks, const zend_execute_data *bottom)
{
	for (zend_execute_data *call = EG(current_execute_data); call; call = hearth_call_below(call)) {
		if (call->func) {
			take_call(marks, call);
		}
		if (call == bottom) {
			break;
		}
	}
}

static void take_all_reached(hearth_marks *marks, const zend_execute_data *bottom)
{
	HashTable reached;

	zend_hash_init(&reached, 64, NULL, NULL, 1);
	marks->reached = &reached;
	take_calls(marks, bottom);
	take_all_inside(marks, 0);
	for (uint32_t i = 0; i < reached.nNumUsed; i++) {
		take_inside(marks, Z_PTR(reached.arData[i].val));
	}
	marks->reached = NULL;
	zend_hash_destroy(&reached);
}

void hearth_marks_put_away(hearth_marks *marks, const zend_execute_data *bottom)
{
	take_calls(marks, bottom);
	if (marks->in_object) {
		take_all_reached(marks, bottom);
	}
	if (hearth_in_error_handler(hearth_current)) {
		hearth_marks_take_constants(marks);
	}
}

void hearth_marks_forget(void)
{
	hearth_marks marks = {0};

	take_calls(&marks, NULL);
	/* The search for reachable values allocates memory. */
	if (!zend_alloc_in_memory_limit_error_reporting() && marks.in_object) {
		take_all_reached(&marks, NULL);
	}
	for (uint32_t i = 0; i < marks.count; i++) {
		/* As in marks_put_back.c. The task's values are not freed. */
		GC_DELREF(marks.list[i].what);
	}
	marks.count = 0;
	/* Those that are still marked are of the calls that are left. */
	hearth_marks_take_constants(&marks);
	if (marks.list) {
		pefree(marks.list, 1);
	}
}
