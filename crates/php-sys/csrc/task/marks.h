/* Marks against recursion, taken away while a task waits: see task/marks.c. */
#ifndef HEARTH_MARKS_H
#define HEARTH_MARKS_H

#include "compat.h"

typedef struct {
	zend_refcounted *what;           /* with one owner more; it is marked itself, unless one of the next is given */
	HashTable *table;                /* in the object or reference: one owner more, and the next write would part it from that */
	uint32_t *guard;                 /* of the object */
	uint32_t bits;
} hearth_mark;

typedef struct {
	hearth_mark *list;
	uint32_t count, room;
	bool in_object;                  /* an object has one of them */
	HashTable *reached;              /* NULL: what is not marked is not looked into */
} hearth_marks;

/* Does code of the app run that the engine marks an object for? A method such as __get(). */
static inline bool hearth_is_guarded(const zend_function *function)
{
	const zend_class_entry *scope = function->common.scope;

	return scope && UNEXPECTED(scope->ce_flags & ZEND_ACC_USE_GUARDS)
		&& (function == scope->__get || function == scope->__set || function == scope->__isset || function == scope->__unset);
}

/* task/marking.c: what a function marks of what it is called with. Of variables that it goes through the references are its own. */
enum { HEARTH_MARKS_ARGUMENTS = 1, HEARTH_MARKS_ELEMENTS = 2, HEARTH_MARKS_WALKED = 3 };
void hearth_marks_learn(void);
/* One of these, or 0. */
uintptr_t hearth_marks_of(const zend_function *function);
bool hearth_compares(const zend_op *opline);
/* May the engine have marked something for this call? */
bool hearth_may_have_marked(const zend_execute_data *call);
/* task/marks.c: those of the calls from the one that runs down to `bottom`. */
void hearth_marks_put_away(hearth_marks *marks, const zend_execute_data *bottom);
void hearth_marks_put_back(hearth_marks *marks);
/* A fatal error leaves all calls of the task that runs. */
void hearth_marks_forget(void);

#endif
