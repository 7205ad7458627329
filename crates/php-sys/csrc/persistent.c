/*
 * Persistent connections belong to the process: with several requests in flight all of them would share one. While that
 * is so, they are refused with the reason.
 */
#include "task.h"

static bool refused;
static zif_handler pdo_construct, pfsockopen, pg_pconnect, redis_pconnect;

static void refuse(const char *what)
{
	zend_throw_error(NULL, "%s is refused with more than one request in flight per worker (workers.concurrency): "
		"all of them would share one connection. Leave it out and use Hearth\\Pool", what);
}

static void on_pdo_construct(INTERNAL_FUNCTION_PARAMETERS)
{
	zval *options = ZEND_NUM_ARGS() >= 4 ? ZEND_CALL_ARG(execute_data, 4) : NULL;
	zval *persistent = options && Z_TYPE_P(options) == IS_ARRAY ? zend_hash_index_find(Z_ARRVAL_P(options), 12) : NULL;

	if (refused && persistent && zend_is_true(persistent)) {
		refuse("PDO::ATTR_PERSISTENT");
		return;
	}
	pdo_construct(INTERNAL_FUNCTION_PARAM_PASSTHRU);
}

#define REFUSABLE(name, shown) \
	static void on_##name(INTERNAL_FUNCTION_PARAMETERS) \
	{ \
		if (refused) { \
			refuse(shown); \
			return; \
		} \
		name(INTERNAL_FUNCTION_PARAM_PASSTHRU); \
	}

REFUSABLE(pfsockopen, "pfsockopen()")
REFUSABLE(pg_pconnect, "pg_pconnect()")
REFUSABLE(redis_pconnect, "Redis::pconnect()")

static void watch(HashTable *functions, const char *name, zif_handler *original, zif_handler ours)
{
	zend_function *function = functions ? zend_hash_str_find_ptr(functions, name, strlen(name)) : NULL;

	if (function) {
		*original = function->internal_function.handler;
		function->internal_function.handler = ours;
	}
}

static HashTable *methods(const char *class_name)
{
	zend_class_entry *ce = zend_hash_str_find_ptr(CG(class_table), class_name, strlen(class_name));

	return ce ? &ce->function_table : NULL;
}

void hearth_watch_persistent(void)
{
	watch(methods("pdo"), "__construct", &pdo_construct, on_pdo_construct);
	watch(methods("redis"), "pconnect", &redis_pconnect, on_redis_pconnect);
	watch(CG(function_table), "pfsockopen", &pfsockopen, on_pfsockopen);
	watch(CG(function_table), "pg_pconnect", &pg_pconnect, on_pg_pconnect);
}

void hearth_refuse_persistent(bool refuse_them)
{
	refused = refuse_them;
	hearth_ground_restores(!refuse_them);
}
