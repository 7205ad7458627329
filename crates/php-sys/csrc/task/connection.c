/*
 * The identity of a connection: an address that all objects and streams of one connection lead to, so that two calls on the
 * same connection are seen, whichever object or stream they are made on.
 */
#include "engine/intercept.h"
#include "task/connection_child.h"
#include "task/interrupted.h"
#include "task/task.h"

#include <ext/mysqli/php_mysqli_structs.h>
#include <ext/pdo/php_pdo_driver.h>
/* Debian has ext/sockets as a shared extension, so PHP's own headers were made without it. */
#define HAVE_SOCKETS 1
#include <ext/sockets/php_sockets.h>

static zend_class_entry *pdo, *pdo_statement, *mysqli, *mysqli_statement, *mysqli_result_class, *socket_class, *pgsql_class,
	*directory, *sqlite, *sqlite_statement, *sqlite_result;

/* The most objects between one that is called and its connection. */
#define MOST_HOLDERS 4

static const void *of_mysqli(zend_object *object, const zend_class_entry *ce)
{
	const MYSQLI_RESOURCE *resource = php_mysqli_fetch_object(object)->ptr;

	if (!resource || !resource->ptr) {
		return object;
	}
	if (ce == mysqli) {
		const MY_MYSQL *link = resource->ptr;
		return link->mysql ? (const void *) link->mysql->data : object;
	}
	if (ce == mysqli_statement) {
		const MY_STMT *statement = resource->ptr;
		return statement->stmt && statement->stmt->data ? (const void *) statement->stmt->data->conn : object;
	}
	return ((const MYSQL_RES *) resource->ptr)->conn;
}

MYSQLND_CONN_DATA *hearth_mysqli_connection(zend_object *object)
{
	const MYSQLI_RESOURCE *resource;
	const MY_MYSQL *link;

	if (!mysqli || !instanceof_function(object->ce, mysqli)) {
		return NULL;
	}
	resource = php_mysqli_fetch_object(object)->ptr;
	link = resource ? resource->ptr : NULL;
	return link && link->mysql ? link->mysql->data : NULL;
}

static bool is_a(const zend_class_entry *ce, const zend_class_entry *of)
{
	for (; ce; ce = ce->parent) {
		if (ce == of) {
			return of != NULL;
		}
	}
	return false;
}

/* Returns the pointer with that number in an extension's own structure, which has no header. */
static const void *field(const zend_object *object, uint32_t number)
{
	return ((const void *const *) ((const char *) object - object->handlers->offset))[number];
}

/* pg_socket() makes a stream of a connection, whose handle is libpq's; the first field of the object is the same handle. */
static const void *of_pgsql(zend_object *object)
{
	return field(object, 0);
}

/* Returns the connection's structure: the second field of a statement's structure, the first of a result's. */
static const void *of_sqlite(zend_object *object, const zend_class_entry *ce)
{
	const void *connection = (const char *) object - object->handlers->offset;

	if (ce != sqlite) {
		connection = field(object, ce == sqlite_statement ? 1 : 0);
	}
	return connection ? connection : object;
}

const void *hearth_connection_of_stream(zval *value)
{
	const void *connection;
	const php_stream *stream;

	if (!value || Z_TYPE_P(value) != IS_RESOURCE) {
		return NULL;
	}
	if (Z_RES_TYPE_P(value) == php_file_le_stream_filter()) {
		const php_stream_filter *filter = Z_RES_VAL_P(value);

		return filter && filter->chain ? filter->chain->stream : NULL;
	}
	if (Z_RES_TYPE_P(value) != php_file_le_stream()) {
		return hearth_connection_of_resource(Z_RES_P(value));
	}
	stream = Z_RES_VAL_P(value);
	if (strcmp(stream->ops->label, "PostgreSQL link") == 0) {
		return stream->abstract;
	}
	connection = hearth_connection_of_child_stream(stream);
	return connection ? connection : stream;
}

/* socket_import_stream() and socket_export_stream(): socket and stream are one connection. */
static const void *of_socket(zend_object *object)
{
	zval *stream = &socket_from_obj(object)->zstream;

	return Z_TYPE_P(stream) == IS_RESOURCE ? hearth_connection_of_stream(stream) : object;
}

/* opendir() returns the stream itself, dir() an object that has the stream. */
static const void *of_directory(zend_object *object)
{
	zval *handle = OBJ_PROP_NUM(object, 1);
	const void *stream = hearth_connection_of_stream(handle);

	return stream ? stream : object;
}

const zend_class_entry *hearth_internal_class(const zend_object *object)
{
	const zend_class_entry *ce = object->ce;

	while (ce->type == ZEND_USER_CLASS && ce->parent) {
		ce = ce->parent;
	}
	return ce;
}

/* Returns the object of the same extension that this one has in a property it was declared with, as an AMQPQueue has its channel. */
static zend_object *holder_of(zend_object *object, const zend_class_entry *ce)
{
	for (int i = 0; ce->type == ZEND_INTERNAL_CLASS && i < ce->default_properties_count; i++) {
		zval *held = OBJ_PROP_NUM(object, i);

		ZVAL_DEREF(held);
		if (Z_TYPE_P(held) == IS_OBJECT) {
			const zend_class_entry *other = hearth_internal_class(Z_OBJ_P(held));

			if (other->type == ZEND_INTERNAL_CLASS && other->info.internal.module == ce->info.internal.module) {
				return Z_OBJ_P(held);
			}
		}
	}
	return NULL;
}

/* Follows such properties to the connection itself. */
static const void *of_other(zend_object *object, const zend_class_entry *ce)
{
	const void *connection = hearth_connection_of_child(object, ce);
	zend_object *holder = object;

	if (connection) {
		return connection;
	}
	for (int i = 0; holder && i < MOST_HOLDERS; i++) {
		object = holder;
		holder = holder_of(object, hearth_internal_class(object));
	}
	return object;
}

/* Returns the address that all objects of one connection share; NULL if there is none. */
const void *hearth_connection_of_object(zend_object *object)
{
	const zend_class_entry *ce = hearth_internal_class(object);

	if (is_a(ce, pdo)) {
		return php_pdo_dbh_fetch_inner(object);
	}
	if (ce == pdo_statement) {
		return php_pdo_stmt_fetch_object(object)->dbh;
	}
	if (ce == mysqli || ce == mysqli_statement || ce == mysqli_result_class) {
		return mysqli ? of_mysqli(object, ce) : NULL;
	}
	if (ce == socket_class) {
		return of_socket(object);
	}
	if (ce == directory) {
		return of_directory(object);
	}
	if (ce == sqlite || ce == sqlite_statement || ce == sqlite_result) {
		return sqlite ? of_sqlite(object, ce) : object;
	}
	return ce == pgsql_class ? of_pgsql(object) : of_other(object, ce);
}

const void *hearth_connection_of_value(zval *value)
{
	if (!value) {
		return NULL;
	}
	switch (Z_TYPE_P(value)) {
		case IS_OBJECT:
			return hearth_connection_of_object(Z_OBJ_P(value));
		case IS_RESOURCE:
			return hearth_connection_of_stream(value);
		default:
			return NULL;
	}
}

static bool is_child_of(zend_object *object, const void *connection, const zend_module_entry *module)
{
	const zend_class_entry *ce = hearth_internal_class(object);

	return ce->type == ZEND_INTERNAL_CLASS && ce->info.internal.module == module && !(OBJ_FLAGS(object) & IS_OBJ_FREE_CALLED)
		&& hearth_connection_of_object(object) == connection;
}

bool hearth_connection_has_children(zend_object *object)
{
	const zend_class_entry *ce = hearth_internal_class(object);
	const void *connection = hearth_connection_of_object(object);

	if ((ce != mysqli && ce != pgsql_class) || !connection || connection == object) {
		return false;
	}
	for (uint32_t handle = 1; handle < EG(objects_store).top; handle++) {
		zend_object *other = EG(objects_store).object_buckets[handle];

		if (IS_OBJ_VALID(other) && other != object && is_child_of(other, connection, ce->info.internal.module)) {
			return true;
		}
	}
	return false;
}

/* ---- streams that are bound to a statement ---- */

/* A bound parameter of ext/sqlite3, which has no header. */
typedef struct {
	zend_long number;
	zend_string *name;
	zend_long type;
	zval parameter;
} sqlite_parameter;

bool hearth_executes_bound(zend_execute_data *call)
{
	const zend_class_entry *ce;

	if (Z_TYPE(call->This) != IS_OBJECT || ZEND_CALL_NUM_ARGS(call) != 0) {
		return false;
	}
	ce = hearth_internal_class(Z_OBJ(call->This));
	return (ce == pdo_statement || ce == sqlite_statement) && zend_string_equals_literal_ci(call->func->common.function_name, "execute");
}

bool hearth_is_pdo_statement(const zend_object *object)
{
	return pdo_statement && hearth_internal_class(object) == pdo_statement;
}

/* Returns the next bound stream, and moves `position` on; NULL at the end. Drivers read them while they execute the statement. */
static zval *next_bound(zend_object *statement, HashPosition *position)
{
	bool of_pdo = hearth_internal_class(statement) == pdo_statement;
	HashTable *bound = of_pdo ? php_pdo_stmt_fetch_object(statement)->bound_params : (HashTable *) field(statement, 5);
	void *parameter;

	while (bound && (parameter = zend_hash_get_current_data_ptr_ex(bound, position))) {
		zval *value = of_pdo ? &((struct pdo_bound_param_data *) parameter)->parameter : &((sqlite_parameter *) parameter)->parameter;

		zend_hash_move_forward_ex(bound, position);
		ZVAL_DEREF(value);
		if (Z_TYPE_P(value) == IS_RESOURCE) {
			return value;
		}
	}
	return NULL;
}

bool hearth_binds(zend_object *statement, const void *stream)
{
	HashPosition position = 0;
	zval *bound;

	while ((bound = next_bound(statement, &position))) {
		if (hearth_connection_of_stream(bound) == stream) {
			return true;
		}
	}
	return false;
}

zend_array *hearth_bound_hold(zend_object *statement)
{
	zend_array *held = NULL;
	HashPosition position = 0;
	zval *bound;

	while ((bound = next_bound(statement, &position))) {
		held = held ? held : zend_new_array(1);
		Z_ADDREF_P(bound);
		zend_hash_next_index_insert_new(held, bound);
	}
	return held;
}

/* ---- setup ---- */

static zend_class_entry *class_named(const char *name)
{
	return zend_hash_str_find_ptr(CG(class_table), name, strlen(name));
}

const void *hearth_pgsql_connection(zend_object *object)
{
	return pgsql_class && object->ce == pgsql_class ? of_pgsql(object) : NULL;
}

void hearth_connections_find(void)
{
	pdo = class_named("pdo");
	pdo_statement = class_named("pdostatement");
	mysqli = class_named("mysqli");
	mysqli_statement = class_named("mysqli_stmt");
	mysqli_result_class = class_named("mysqli_result");
	socket_class = class_named("socket");
	pgsql_class = class_named("pgsql\\connection");
	directory = class_named("directory");
	sqlite = class_named("sqlite3");
	sqlite_statement = class_named("sqlite3stmt");
	sqlite_result = class_named("sqlite3result");
	hearth_children_find();
}
