/*
 * Iterations over objects of extensions. `foreach`, `...`, `yield from`, iterator_to_array() and the iterators of SPL ask the
 * extension for the next element without a call, so the functions behind that are wrapped: each is refused where another task
 * uses the object's connection, and has it in use while it waits.
 */
#include "engine/intercept.h"
#include "task/inside.h"
#include "task/no_suspend.h"

#include <ext/spl/spl_iterators.h>
#include <ext/spl/spl_observer.h>

typedef struct {
	zend_object_iterator own;        /* its `data` is the object */
	zend_object_iterator *inner;     /* the extension's */
	zval collected[2];               /* what it holds, for the collector of cycles */
	hearth_inside inside;
	const zend_function *method;     /* in whose name it is refused; NULL: not determined yet */
} iteration;

static HashTable originals;

/* Returns getIterator() or next(); for a class that has neither, a stand-in. */
static const zend_function *method_of(zend_class_entry *ce)
{
	static zend_internal_function other = {.type = ZEND_INTERNAL_FUNCTION};
	const zend_function *method = zend_hash_str_find_ptr(&ce->function_table, ZEND_STRL("getiterator"));

	if (method || (method = zend_hash_str_find_ptr(&ce->function_table, ZEND_STRL("next")))) {
		return method;
	}
	if (!other.function_name) {
		other.function_name = zend_string_init("foreach", sizeof "foreach" - 1, 1);
	}
	other.scope = ce;
	return (const zend_function *) &other;
}

static bool is_refused(iteration *this)
{
	zend_object *object = this->inside.object;

	if (!this->method) {
		this->method = method_of(object->ce);
	}
	return hearth_inside_refuses(this->method, hearth_connection_of_object(object));
}

/* Whether the extension may be asked; if not, an exception is pending. */
static bool enter(iteration *this)
{
	if (UNEXPECTED(hearth_inside_may_refuse()) && is_refused(this)) {
		return false;
	}
	hearth_inside_enter(&this->inside);
	return true;
}

static void leave(iteration *this)
{
	hearth_inside_leave(&this->inside);
	if (UNEXPECTED(hearth_kept)) {
		hearth_kept_release(EG(current_execute_data));
	}
}

/* ---- the functions of an iterator ---- */

static iteration *of(zend_object_iterator *iterator)
{
	return (iteration *) iterator;
}

static void release_data(zend_object_iterator *iterator)
{
	zval_ptr_dtor(&iterator->data);
}

/*
 * The end of a loop over a RecursiveIteratorIterator frees the iterators that the object holds. Where another task is in the middle of a step,
 * it uses them: they stay until the next rewind(), or until the object is freed.
 */
static void keep_held(zend_object_iterator *inner, zend_object *object)
{
	static const zend_object_iterator_funcs releases = {.dtor = release_data};

	if (UNEXPECTED(hearth_uses) && instanceof_function(object->ce, spl_ce_RecursiveIteratorIterator)
			&& hearth_in_use_elsewhere(hearth_connection_of_object(object))) {
		inner->funcs = &releases;
	}
}

static void on_dtor(zend_object_iterator *iterator)
{
	hearth_inside_drop(&of(iterator)->inside);
	if (of(iterator)->inner) {
		keep_held(of(iterator)->inner, of(iterator)->inside.object);
		zend_iterator_dtor(of(iterator)->inner);
	}
	zval_ptr_dtor(&iterator->data);
}

/* A number, or an enumeration in newer releases. */
typedef __typeof__(((zend_object_iterator_funcs *) NULL)->valid(NULL)) validity;

static validity on_valid(zend_object_iterator *iterator)
{
	zend_object_iterator *inner = of(iterator)->inner;
	validity valid;

	if (!enter(of(iterator))) {
		return FAILURE;
	}
	inner->index = iterator->index;
	valid = inner->funcs->valid(inner);
	leave(of(iterator));
	return valid;
}

static zval *on_current(zend_object_iterator *iterator)
{
	zend_object_iterator *inner = of(iterator)->inner;
	zval *current;

	if (!enter(of(iterator))) {
		return NULL;
	}
	current = inner->funcs->get_current_data(inner);
	leave(of(iterator));
	return current;
}

static void on_key(zend_object_iterator *iterator, zval *key)
{
	zend_object_iterator *inner = of(iterator)->inner;

	ZVAL_LONG(key, (zend_long) iterator->index);
	if (inner->funcs->get_current_key && enter(of(iterator))) {
		inner->funcs->get_current_key(inner, key);
		leave(of(iterator));
	}
}

static void on_move(zend_object_iterator *iterator)
{
	zend_object_iterator *inner = of(iterator)->inner;

	if (enter(of(iterator))) {
		inner->index = iterator->index;
		inner->funcs->move_forward(inner);
		leave(of(iterator));
	}
}

static void on_rewind(zend_object_iterator *iterator)
{
	zend_object_iterator *inner = of(iterator)->inner;

	if (enter(of(iterator))) {
		inner->index = iterator->index;
		inner->funcs->rewind(inner);
		leave(of(iterator));
	}
}

static void on_invalidate(zend_object_iterator *iterator)
{
	zend_object_iterator *inner = of(iterator)->inner;

	if (inner->funcs->invalidate_current) {
		inner->funcs->invalidate_current(inner);
	}
}

static HashTable *on_gc(zend_object_iterator *iterator, zval **table, int *count)
{
	iteration *this = of(iterator);

	ZVAL_COPY_VALUE(&this->collected[0], &this->own.data);
	if (this->inner) {
		ZVAL_OBJ(&this->collected[1], &this->inner->std);
	}
	*table = this->collected;
	*count = this->inner ? 2 : 1;
	return NULL;
}

#define FUNCTIONS \
	.dtor = on_dtor, .valid = on_valid, .get_current_data = on_current, .get_current_key = on_key, .move_forward = on_move, \
	.invalidate_current = on_invalidate, .get_gc = on_gc

static const zend_object_iterator_funcs forward_only = {FUNCTIONS};
/* Where the extension's iterator has no rewind(), code that asks for it is told so. */
static const zend_object_iterator_funcs with_rewind = {FUNCTIONS, .rewind = on_rewind};

/* ---- the beginning ---- */

typedef zend_object_iterator *(*beginning)(zend_class_entry *ce, zval *object, int by_ref);

static beginning original_of(const zend_class_entry *ce)
{
	union { void *found; beginning function; } of_class = {.found = zend_hash_index_find_ptr(&originals, (zend_ulong) (uintptr_t) ce)};

	return of_class.function;
}

/* A class may fetch its first element here. */
static zend_object_iterator *begin(zend_class_entry *ce, zval *object, int by_ref)
{
	iteration *new = ecalloc(1, sizeof *new);

	zend_iterator_init(&new->own);
	new->own.funcs = &forward_only;
	ZVAL_OBJ_COPY(&new->own.data, Z_OBJ_P(object));
	new->inside.object = Z_OBJ_P(object);
	if (enter(new)) {
		new->inner = original_of(hearth_internal_class(Z_OBJ_P(object)))(ce, object, by_ref);
		leave(new);
	}
	if (UNEXPECTED(!new->inner)) {
		zend_iterator_dtor(&new->own);
		return NULL;
	}
	if (new->inner->funcs->rewind) {
		new->own.funcs = &with_rewind;
	}
	return &new->own;
}

/* ---- setup ---- */

/* Classes whose iterator calls their methods, as that of SplObjectStorage does, need nothing here: those calls are watched. */
static bool has_own(const zend_class_entry *ce)
{
	return ce->get_iterator && ce->get_iterator != spl_ce_SplObjectStorage->get_iterator && ce->get_iterator != zend_user_it_get_new_iterator
		&& !(ce->ce_flags & ZEND_ACC_INTERFACE);
}

static void note(const zend_class_entry *ce)
{
	union { void *found; beginning function; } of_class = {.function = ce->get_iterator};

	if (ce->type == ZEND_INTERNAL_CLASS && has_own(ce) && (hearth_use_covers(ce) || hearth_is_heap(ce))) {
		zend_hash_index_add_new_ptr(&originals, (zend_ulong) (uintptr_t) ce, of_class.found);
	}
}

static void replace(zend_class_entry *ce)
{
	const zend_class_entry *internal = ce;

	while (internal->type == ZEND_USER_CLASS && (ce->ce_flags & ZEND_ACC_LINKED) && internal->parent) {
		internal = internal->parent;
	}
	if (internal->type == ZEND_INTERNAL_CLASS && ce->get_iterator && ce->get_iterator == original_of(internal)) {
		ce->get_iterator = begin;
	}
}

void hearth_iterations_watch(void)
{
	zend_class_entry *ce;

	zend_hash_init(&originals, 16, NULL, NULL, 1);
	ZEND_HASH_FOREACH_PTR(CG(class_table), ce) {
		note(ce);
	} ZEND_HASH_FOREACH_END();
	ZEND_HASH_FOREACH_PTR(CG(class_table), ce) {
		replace(ce);
	} ZEND_HASH_FOREACH_END();
}
