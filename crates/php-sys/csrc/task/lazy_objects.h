/* Lazy objects whose initializer waits: see task/lazy_objects.c. */
#ifndef HEARTH_LAZY_OBJECTS_H
#define HEARTH_LAZY_OBJECTS_H

#include "task/task.h"

/* The numbers of objects that are put away, and of tasks that wait for one. */
extern uint32_t hearth_lazy_objects_away, hearth_lazy_object_waiters;

/* Puts away the objects in whose initializers the running task waits, until hearth_lazy_objects_put_back. */
void hearth_lazy_objects_put_away(hearth_task *task);
void hearth_lazy_objects_put_back(const hearth_task *task);
/* Hides again those that a task has seen whose request initializes them. */
void hearth_lazy_objects_hide(void);
/* Called when a fatal error has left all calls of the running task. */
void hearth_lazy_objects_break(void);
/* Whether an initializer still works on it, so that other requests wait. */
bool hearth_lazy_object_is_waited_for(const zend_object *object);
/* task/table.c: wakes the tasks that wait for an object on which no initializer works any more. */
void hearth_task_unpark_object_waiters(void);

/* Whether the engine has any lazy object. */
static inline bool hearth_lazy_objects_exist(void)
{
	const HashTable *all = HEARTH_LAZY_OBJECTS();

	return all && all->nNumOfElements;
}

#endif
