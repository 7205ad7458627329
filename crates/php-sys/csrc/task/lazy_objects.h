/* Lazy objects that requests share: see task/lazy_objects.c. */
#ifndef HEARTH_LAZY_OBJECTS_H
#define HEARTH_LAZY_OBJECTS_H

#include "task/task.h"

/* The number of lazy objects that boot has left. */
extern uint32_t hearth_lazy_object_count;

/* Notes the lazy objects that boot leaves. */
void hearth_lazy_objects_seal(void);
/* Whether the running code is called by the initializer of one of them. */
bool hearth_initializes_lazy_object(void);

#endif
