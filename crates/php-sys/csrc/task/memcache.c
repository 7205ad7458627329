/*
 * Connections of pecl/memcache whose object is gone. The extension counts one owner too many of the resource, so only the end of all resources
 * closes the connection: under php-fpm, the end of the request. Here they are closed at the end of a request.
 */
#include "engine/intercept.h"
#include "task/task.h"

/* The numbers of the resources. */
static zend_long *opened;
static uint32_t room;
uint32_t hearth_memcache_opened;

static int type_of_connection;

static zend_resource *find(zend_long number)
{
	zend_resource *resource = zend_hash_index_find_ptr(&EG(regular_list), (zend_ulong) number);

	return resource && resource->type == type_of_connection ? resource : NULL;
}

static bool is_noted(zend_long number)
{
	for (uint32_t i = 0; i < hearth_memcache_opened; i++) {
		if (opened[i] == number) {
			return true;
		}
	}
	return false;
}

static void note(const zend_resource *resource)
{
	if (hearth_memcache_opened == room) {
		room = room ? 2 * room : 16;
		opened = perealloc(opened, room * sizeof *opened, 1);
	}
	opened[hearth_memcache_opened++] = resource->handle;
}

/* An object that owns its connection has the resource in a property. With one owner now, the extension counts as it should. */
static void after(zend_execute_data *call, zval *return_value)
{
	zval *object = Z_TYPE(call->This) == IS_OBJECT ? &call->This : hearth_argument(call, 1), *connection, space;

	if (EG(exception)) {
		return;
	}
	if (Z_TYPE_P(return_value) == IS_OBJECT) {
		object = return_value;
	}
	if (!object || Z_TYPE_P(object) != IS_OBJECT) {
		return;
	}
	connection = zend_read_property(Z_OBJCE_P(object), Z_OBJ_P(object), ZEND_STRL("connection"), true, &space);
	ZVAL_DEREF(connection);
	if (Z_TYPE_P(connection) == IS_RESOURCE && Z_RES_TYPE_P(connection) == type_of_connection && Z_REFCOUNT_P(connection) > 1
			&& !is_noted(Z_RES_HANDLE_P(connection))) {
		note(Z_RES_P(connection));
	}
}

void hearth_memcache_close(void)
{
	for (uint32_t i = 0; i < hearth_memcache_opened;) {
		zend_resource *resource = find(opened[i]);

		if (resource && GC_REFCOUNT(resource) > 1) {
			i++;
			continue;
		}
		opened[i] = opened[--hearth_memcache_opened];
		if (resource) {
			zend_list_delete(resource);
		}
	}
}

static void watch(HashTable *functions, const char *name)
{
	static const hearth_around around = {.after = after};
	zend_function *function = zend_hash_str_find_ptr(functions, name, strlen(name));

	if (function && function->type == ZEND_INTERNAL_FUNCTION) {
		hearth_intercept_of(function)->around = &around;
		hearth_intercept_of(function)->use |= HEARTH_IN_USE;
	}
}

void hearth_memcache_watch(void)
{
	static const char *const classes[] = {"memcache", "memcachepool"};

	type_of_connection = zend_fetch_list_dtor_id("memcache connection");
	if (type_of_connection <= 0) {
		return;
	}
	watch(CG(function_table), "memcache_connect");
	watch(CG(function_table), "memcache_add_server");
	for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
		zend_class_entry *ce = zend_hash_str_find_ptr(CG(class_table), classes[i], strlen(classes[i]));

		if (ce) {
			watch(&ce->function_table, "connect");
			watch(&ce->function_table, "addserver");
		}
	}
}
