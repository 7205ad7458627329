/* Marks against recursion, taken away while a task waits: see task/marks.c. */
#ifndef HEARTH_MARKS_H
#define HEARTH_MARKS_H

#include "compat.h"

typedef struct {
	zend_refcounted *what;           /* with one more owner; marked itself, unless one of the next fields is set; NULL: a constant */
	HashTable *table;                /* marked table inside: with one more owner, the next write would separate it */
	uint32_t *guard;                 /* the object's guard with the mark */
	uint32_t bits;
	bool held;                       /* not marked: it has the owner only */
} hearth_mark;

typedef struct {
	hearth_mark *list;
	uint32_t count, room;
	bool in_object;                  /* one of the marks is in an object */
	HashTable *reached;              /* what was reached without a mark; NULL: such values are not searched */
} hearth_marks;

/* Whether the function is one of the app's for which the engine marks an object, such as __get(). */
static inline bool hearth_is_guarded(const zend_function *function)
{
	const zend_class_entry *scope = function->common.scope;

	return scope && UNEXPECTED(scope->ce_flags & ZEND_ACC_USE_GUARDS)
		&& (function == scope->__get || function == scope->__set || function == scope->__isset || function == scope->__unset);
}

/* task/marking.c: what a function marks among its arguments. WALKED: it keeps references of the variables it walks. */
enum { HEARTH_MARKS_ARGUMENTS = 1, HEARTH_MARKS_ELEMENTS = 2, HEARTH_MARKS_WALKED = 3 };
void hearth_marks_learn(void);
/* Returns one of these, or 0. */
uintptr_t hearth_marks_of(const zend_function *function);
bool hearth_compares(const zend_op *opline);
/* Whether the engine may have marked something for this call. */
bool hearth_may_have_marked(const zend_execute_data *call);
/* task/marks.c: takes away the marks of the calls from the running one down to `bottom`. */
void hearth_marks_put_away(hearth_marks *marks, const zend_execute_data *bottom);
void hearth_marks_put_back(hearth_marks *marks);
/* Takes these bits away. `object`: what they are in; NULL: in something that stays. */
void hearth_marks_take_bits(hearth_marks *marks, zend_object *object, uint32_t *guard, uint32_t mask);
/* Gives the object an owner until the marks are put back. */
void hearth_marks_hold(hearth_marks *marks, zend_object *object);
/* Whether the code of `call`, a function or an opcode that compares, is in the middle of an object that it goes over. */
bool hearth_marks_in_object(zend_execute_data *call);
/* task/constant_marks.c: takes away the marks of all class constants. */
void hearth_marks_take_constants(hearth_marks *marks);
/* Drops the marks when a fatal error leaves all calls of the running task. */
void hearth_marks_forget(void);

#endif
