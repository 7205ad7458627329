/*
 * Stream contexts that phpredis makes of the argument $context of Redis::connect(). The extension does not release them when their object is
 * freed, so only the end of all resources does: under php-fpm, the end of the request. Here they are released at the end of the
 * first request after that of the object.
 */
#include "engine/intercept.h"
#include "task/task.h"

#include <ext/standard/file.h>

typedef struct {
	zend_long number;                /* of the resource */
	const zend_object *object;
	uint32_t handle;                 /* of the object */
	const zend_execute_data *call;   /* while the object connects */
} context;

static context *made;
static uint32_t room;
uint32_t hearth_redis_contexts;

static zend_resource *find(zend_long number)
{
	zend_resource *resource = zend_hash_index_find_ptr(&EG(regular_list), (zend_ulong) number);

	return resource && resource->type == php_le_stream_context() ? resource : NULL;
}

static void forget(uint32_t place)
{
	made[place] = made[--hearth_redis_contexts];
}

/*
 * Whether the extension makes a context. It does so before the call waits, so the context gets the next number: unless an argument is an
 * object, whose __toString() could make another resource first.
 */
static bool makes_context(zend_execute_data *call)
{
	enum { CONTEXT = 7 };
	zval *options = hearth_argument(call, CONTEXT), *stream;

	if (!options || Z_TYPE_P(options) != IS_ARRAY || Z_TYPE(call->This) != IS_OBJECT) {
		return false;
	}
	for (uint32_t i = 1; i < CONTEXT; i++) {
		const zval *argument = hearth_argument(call, i);

		if (argument && Z_TYPE_P(argument) == IS_OBJECT) {
			return false;
		}
	}
	stream = zend_hash_str_find(Z_ARRVAL_P(options), ZEND_STRL("stream"));
	return stream && Z_TYPE_P(stream) == IS_ARRAY;
}

static bool before(zend_execute_data *call, zval *return_value)
{
	(void) return_value;
	if (!makes_context(call)) {
		return true;
	}
	if (hearth_redis_contexts == room) {
		room = room ? 2 * room : 16;
		made = perealloc(made, room * sizeof *made, 1);
	}
	made[hearth_redis_contexts++] = (context){EG(regular_list).nNextFreeElement, Z_OBJ(call->This), Z_OBJ(call->This)->handle, call};
	return true;
}

static void after(zend_execute_data *call, zval *return_value)
{
	const zend_object *object = Z_TYPE(call->This) == IS_OBJECT ? Z_OBJ(call->This) : NULL;

	(void) return_value;
	for (uint32_t i = 0; i < hearth_redis_contexts;) {
		if (made[i].call == call) {
			made[i].call = NULL;
			/* Without one, the call has refused its arguments, and others get the number. */
			if (!find(made[i].number)) {
				forget(i);
				continue;
			}
		} else if (made[i].object == object && !made[i].call) {
			/* The object has replaced it. */
			made[i].object = NULL;
		}
		i++;
	}
}

static bool has_object(const context *context)
{
	const zend_object *object = context->handle < EG(objects_store).top ? EG(objects_store).object_buckets[context->handle] : NULL;

	return context->call || (object && object == context->object && IS_OBJ_VALID(object) && !(OBJ_FLAGS(object) & IS_OBJ_FREE_CALLED));
}

void hearth_redis_contexts_release(void)
{
	for (uint32_t i = 0; i < hearth_redis_contexts;) {
		zend_resource *resource = find(made[i].number);

		/* The stream is the other owner. */
		if (has_object(&made[i]) || (resource && GC_REFCOUNT(resource) > 1)) {
			i++;
			continue;
		}
		forget(i);
		if (resource) {
			zend_list_delete(resource);
		}
	}
}

void hearth_redis_contexts_watch(void)
{
	static const hearth_around around = {.before = before, .after = after};
	zend_class_entry *redis = zend_hash_str_find_ptr(CG(class_table), ZEND_STRL("redis"));

	for (size_t i = 0; redis && i < 2; i++) {
		const char *name = i == 0 ? "connect" : "pconnect";
		zend_function *function = zend_hash_str_find_ptr(&redis->function_table, name, strlen(name));

		if (function && function->type == ZEND_INTERNAL_FUNCTION) {
			hearth_intercept_of(function)->around = &around;
		}
	}
}
