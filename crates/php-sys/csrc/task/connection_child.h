/* What an extension has made of a connection: see task/connection_child.c. */
#ifndef HEARTH_CONNECTION_CHILD_H
#define HEARTH_CONNECTION_CHILD_H

#include "compat.h"

/* Returns the connection that an object of this class of an extension asks; NULL if it is no such object, or is not connected. */
const void *hearth_connection_of_child(zend_object *object, const zend_class_entry *ce);
const void *hearth_connection_of_child_stream(const php_stream *stream);
/* Returns the connection that the resource asks, or its own structure. */
const void *hearth_connection_of_resource(const zend_resource *resource);
/* Returns the connection of a PgSql\Result. */
const void *hearth_connection_of_result(zend_object *result);
/* Whether the object works on others of its extension, which its calls do not name. */
bool hearth_gathers(const zend_object *object);
void hearth_children_find(void);

#endif
