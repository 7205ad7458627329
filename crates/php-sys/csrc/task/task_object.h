/* The PHP object Hearth\Task. */
#ifndef HEARTH_TASK_OBJECT_H
#define HEARTH_TASK_OBJECT_H

#include "task/task.h"

typedef struct {
	hearth_task *task;               /* NULL once the task has ended */
	void *owner;
	zval result;
	zend_object *exception;
	zend_string *fatal;              /* the fatal error that ended the task */
	bool done, seen;
	zend_object std;
} hearth_task_object;

hearth_task_object *hearth_task_object_of(zend_object *object);
/* Called when the task has ended; `fatal` is the fatal error that ended it, or NULL. */
void hearth_task_object_end(hearth_task *task, zend_string *fatal);
void hearth_register_task(void);
extern zend_class_entry *hearth_task_ce;

#endif
