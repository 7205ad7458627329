/* Lazy objects whose initializer waits: see task/lazy_objects.c, and task/lazy_initializers.c for how they are found. */
#ifndef HEARTH_LAZY_OBJECTS_H
#define HEARTH_LAZY_OBJECTS_H

#include "task/task.h"

/* The numbers of objects that are put away, and of tasks that wait for one. */
extern uint32_t hearth_lazy_objects_away, hearth_lazy_object_waiters;

/* Whether the running code is in the initializer of an object that cannot be put away. */
bool hearth_lazy_objects_forbid_switch(void);
/* Puts away the objects in whose initializers the running task waits, until hearth_lazy_objects_put_back. */
void hearth_lazy_objects_put_away(const hearth_task *task);
/* Those in whose initializers the running Fiber is suspended are put away when the task is left. */
void hearth_lazy_objects_suspend(const zend_fiber *fiber);
void hearth_lazy_objects_put_back(const void *owner);
/* Hides again those that a task has seen whose request initializes them. */
void hearth_lazy_objects_hide(void);
/* Called when a fatal error has left all calls of the running task. */
void hearth_lazy_objects_break(void);
/* Called when a task has ended. */
void hearth_lazy_objects_leave(const hearth_task *task);
/* `task` initializes the object, in the call that `owner` waits in; the second one leaves it as it is until the task is left. */
void hearth_lazy_object_put_away(zend_object *object, const void *owner, const hearth_task *task);
void hearth_lazy_object_record(zend_object *object, const void *owner, const hearth_task *task);
/* Whether the object is put away, or shown to a task of the request that initializes it. */
bool hearth_lazy_object_is_recorded(const zend_object *object);
bool hearth_lazy_object_is_being_initialized(const zend_object *object);
/* Whether the call may be one of an initializer. Called where the engine has lazy objects. */
bool hearth_lazy_object_may_be_initialized_by(const zend_execute_data *call);
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
