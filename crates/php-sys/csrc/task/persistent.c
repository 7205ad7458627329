/*
 * Calls that return a connection of the process. With several requests in flight all of them would share one connection; so
 * such a call is then refused with the reason, or given a connection of its own, as the table specifies.
 */
#include "engine/engine.h"
#include "engine/soap.h"
#include "task/task.h"

/* Whether several requests may be in flight in this process. */
static bool several;
static zend_module_entry *pgsql;
/* The connection strings that the running request called pg_connect() with; only with one request at a time. */
static HashTable *pg_strings;
/* Whether the request has connected with ext/pgsql. */
static bool pg_connected;

/* ---- which calls share a connection ---- */

static bool is_set(zval *value)
{
	return value && zend_is_true(value);
}

/* Whether that key of the array in argument `number` is true. */
static bool has_option(zend_execute_data *call, uint32_t number, const char *name)
{
	zval *options = hearth_argument(call, number);

	return options && Z_TYPE_P(options) == IS_ARRAY && is_set(zend_hash_str_find(Z_ARRVAL_P(options), name, strlen(name)));
}

static bool has_ini(const char *name)
{
	const char *value = zend_ini_string((char *) name, strlen(name), 0);

	return value && *value;
}

static bool pdo_options(zend_execute_data *call)
{
	enum { ATTR_PERSISTENT = 12 };
	zval *options = hearth_argument(call, 4);

	return options && Z_TYPE_P(options) == IS_ARRAY && is_set(zend_hash_index_find(Z_ARRVAL_P(options), ATTR_PERSISTENT));
}

static bool stream_flags(zend_execute_data *call)
{
	enum { CLIENT_PERSISTENT = 1 };
	zval *flags = hearth_argument(call, 5);

	return flags && (zval_get_long(flags) & CLIENT_PERSISTENT);
}

static bool mysqli_host(zval *host)
{
	if (host && Z_TYPE_P(host) == IS_STRING && Z_STRLEN_P(host) > 0) {
		return zend_binary_strncasecmp(Z_STRVAL_P(host), Z_STRLEN_P(host), ZEND_STRL("p:"), 2) == 0;
	}
	return strncasecmp(zend_ini_string((char *) ZEND_STRL("mysqli.default_host"), 0), "p:", 2) == 0;
}

static bool mysqli_first(zend_execute_data *call)
{
	return ZEND_CALL_NUM_ARGS(call) > 0 && mysqli_host(hearth_argument(call, 1));
}

/* Without arguments, only the function connects; the method does not. */
static bool mysqli_function(zend_execute_data *call)
{
	return mysqli_host(hearth_argument(call, 1));
}

/* The method and the function have one handler; the function has the object before the host. */
static bool mysqli_real(zend_execute_data *call)
{
	return mysqli_host(hearth_argument(call, Z_TYPE(call->This) == IS_OBJECT ? 1 : 2));
}

static bool redis_options(zend_execute_data *call)
{
	return has_option(call, 1, "persistent");
}

/* With the name of a cluster alone, its settings are those of php.ini. */
static bool cluster_persistent(zend_execute_data *call)
{
	return is_set(hearth_argument(call, 5)) || (ZEND_CALL_NUM_ARGS(call) < 2 && has_ini("redis.clusters.persistent"));
}

static bool array_persistent(zend_execute_data *call)
{
	return has_option(call, 2, "pconnect") || (ZEND_CALL_NUM_ARGS(call) < 2 && has_ini("redis.arrays.pconnect"));
}

static bool sentinel_persistent(zend_execute_data *call)
{
	return redis_options(call) || is_set(hearth_argument(call, 4));
}

static bool is_id(const zval *id)
{
	return id && Z_TYPE_P(id) != IS_NULL && !(Z_TYPE_P(id) == IS_STRING && Z_STRLEN_P(id) == 0);
}

static bool has_id(zend_execute_data *call)
{
	return is_id(hearth_argument(call, 1));
}

static bool has_second_id(zend_execute_data *call)
{
	return is_id(hearth_argument(call, 2));
}

static bool has_third_id(zend_execute_data *call)
{
	return is_id(hearth_argument(call, 3));
}

/* These connections are persistent unless the argument is false. */
static bool unless_false(zval *persistent)
{
	return !persistent || zend_is_true(persistent);
}

static bool memcache_server(zend_execute_data *call)
{
	return unless_false(hearth_argument(call, Z_TYPE(call->This) == IS_OBJECT ? 3 : 4));
}

static bool memcache_pool_server(zend_execute_data *call)
{
	return unless_false(hearth_argument(call, 4));
}

static bool mongodb_client(zend_execute_data *call)
{
	return !has_option(call, 3, "disableClientPersistence");
}

/* ---- pg_connect() ---- */

/* The extension remembers the connection opened last, for functions that are called without one. */
static void forget_default_link(zval *link)
{
	zend_object **word = pgsql->globals_ptr, **end;

	if (!word || Z_TYPE_P(link) != IS_OBJECT) {
		return;
	}
	for (end = word + pgsql->globals_size / sizeof *word; word < end; word++) {
		if (*word == Z_OBJ_P(link)) {
			*word = NULL;
			OBJ_RELEASE(Z_OBJ_P(link));
			return;
		}
	}
}

/* Whether the running request has connected with this string before. */
static bool is_known_string(zval *string)
{
	if (Z_TYPE_P(string) != IS_STRING) {
		return true;
	}
	if (!pg_strings) {
		pg_strings = pemalloc(sizeof *pg_strings, 1);
		zend_hash_init(pg_strings, 4, NULL, NULL, 1);
	}
	return !zend_hash_str_add_empty_element(pg_strings, Z_STRVAL_P(string), Z_STRLEN_P(string));
}

/*
 * The extension returns the connection that it already has for that string. With several requests in flight, each gets its
 * own; with one at a time, a request gets no connection that an earlier one has used.
 */
static bool pg_connect(zend_execute_data *call, zval *return_value, const hearth_intercept *intercept)
{
	enum { FORCE_NEW = 2 };
	zval *string = hearth_argument(call, 1), *flags = hearth_argument(call, 2), again[2];

	pg_connected = true;
	if (!hearth_current || hearth_is_cli() || !string || (!several && is_known_string(string))) {
		return false;
	}
	if (flags) {
		if (Z_TYPE_P(flags) == IS_LONG) {
			Z_LVAL_P(flags) |= FORCE_NEW;
		}
		intercept->original(call, return_value);
	} else {
		ZVAL_COPY_VALUE(&again[0], string);
		ZVAL_LONG(&again[1], FORCE_NEW);
		zend_call_known_function(call->func, NULL, NULL, return_value, 2, again, NULL);
		return true;
	}
	if (several) {
		forget_default_link(return_value);
	}
	return true;
}

static bool refuse(const hearth_sharing *sharing)
{
	zend_throw_error(NULL, "%s is refused with more than one request in flight per worker (workers.concurrency): "
		"all of them would share one connection. Give each request its own, or use Hearth\\Pool", sharing->what);
	return true;
}

/* One table has the resources of all requests, and says of none which request it is of. */
static bool get_resources(zend_execute_data *call, zval *return_value, const hearth_intercept *intercept)
{
	if (several) {
		zend_throw_error(NULL, "%s is refused with more than one request in flight per worker (workers.concurrency): "
			"it would return the streams and connections of all of them", intercept->sharing->what);
	}
	return several;
}

static bool pg_pconnect(zend_execute_data *call, zval *return_value, const hearth_intercept *intercept)
{
	pg_connected = true;
	return several && refuse(intercept->sharing);
}

/* Returns the number of the argument that is the connection; 0: none. */
static uint32_t connection_argument(const zend_internal_function *function)
{
	for (uint32_t i = 0; i < function->num_args; i++) {
		if (strcmp(((const zend_internal_arg_info *) function->arg_info)[i].name, "connection") == 0) {
			return i + 1;
		}
	}
	return 0;
}

static bool default_link(zend_execute_data *call)
{
	zval *connection = hearth_argument(call, connection_argument(&call->func->internal_function));

	return !connection || Z_TYPE_P(connection) != IS_OBJECT;
}

static const hearth_sharing pg_default_link = {
	NULL, NULL, default_link, "A function of ext/pgsql without its connection argument, which means the connection opened last,", NULL
};

/* Requests would share a WSDL in memory. */
static bool soap_wsdl(zend_execute_data *call, zval *return_value, const hearth_intercept *intercept)
{
	if (several) {
		hearth_soap_without_memory_cache(hearth_argument(call, 2));
	}
	return false;
}

/* ---- the table ---- */

static const hearth_sharing table[] = {
	{"soapclient", "__construct", NULL, "WSDL_CACHE_MEMORY", soap_wsdl},
	{"soapserver", "__construct", NULL, "WSDL_CACHE_MEMORY", soap_wsdl},
	{"pdo", "__construct", pdo_options, "PDO::ATTR_PERSISTENT", NULL},
	{"pdo", "connect", pdo_options, "PDO::ATTR_PERSISTENT", NULL},
	{NULL, "pfsockopen", NULL, "pfsockopen()", NULL},
	{NULL, "stream_socket_client", stream_flags, "STREAM_CLIENT_PERSISTENT", NULL},
	{"mysqli", "__construct", mysqli_first, "A mysqli host that begins with \"p:\"", NULL},
	{"mysqli", "connect", mysqli_function, "A mysqli host that begins with \"p:\"", NULL},
	{NULL, "mysqli_connect", mysqli_function, "A mysqli host that begins with \"p:\"", NULL},
	{"mysqli", "real_connect", mysqli_real, "A mysqli host that begins with \"p:\"", NULL},
	{NULL, "mysqli_real_connect", mysqli_real, "A mysqli host that begins with \"p:\"", NULL},
	{NULL, "pg_connect", NULL, "pg_connect()", pg_connect},
	{NULL, "pg_pconnect", NULL, "pg_pconnect()", pg_pconnect},
	{"redis", "__construct", redis_options, "The option \"persistent\" of Redis", NULL},
	{"redis", "pconnect", NULL, "Redis::pconnect()", NULL},
	{"redis", "popen", NULL, "Redis::popen()", NULL},
	{"rediscluster", "__construct", cluster_persistent, "A persistent RedisCluster", NULL},
	{"redisarray", "__construct", array_persistent, "The option \"pconnect\" of RedisArray", NULL},
	{"redissentinel", "__construct", sentinel_persistent, "A persistent RedisSentinel", NULL},
	{"memcached", "__construct", has_id, "A Memcached with a persistent id", NULL},
	{NULL, "memcache_pconnect", NULL, "memcache_pconnect()", NULL},
	{"memcache", "pconnect", NULL, "Memcache::pconnect()", NULL},
	{NULL, "memcache_add_server", memcache_server, "A persistent server of Memcache::addServer()", NULL},
	{"memcache", "addserver", memcache_server, "A persistent server of Memcache::addServer()", NULL},
	{"memcachepool", "addserver", memcache_pool_server, "A persistent server of MemcachePool::addServer()", NULL},
	{"memcachepool", "connect", memcache_pool_server, "A persistent server of MemcachePool::connect()", NULL},
	{NULL, "oci_connect", NULL, "oci_connect()", NULL},
	{NULL, "oci_pconnect", NULL, "oci_pconnect()", NULL},
	{NULL, "ocilogon", NULL, "ocilogon()", NULL},
	{NULL, "ociplogon", NULL, "ociplogon()", NULL},
	{NULL, "odbc_connect", NULL, "odbc_connect()", NULL},
	{NULL, "odbc_pconnect", NULL, "odbc_pconnect()", NULL},
	{NULL, "odbc_close_all", NULL, "odbc_close_all()", NULL},
	{NULL, "ibase_connect", NULL, "ibase_connect()", NULL},
	{NULL, "ibase_pconnect", NULL, "ibase_pconnect()", NULL},
	{NULL, "fbird_connect", NULL, "fbird_connect()", NULL},
	{NULL, "fbird_pconnect", NULL, "fbird_pconnect()", NULL},
	{NULL, "db2_pconnect", NULL, "db2_pconnect()", NULL},
	{NULL, "dba_popen", NULL, "dba_popen()", NULL},
	{NULL, "get_resources", NULL, "get_resources()", get_resources},
	{"zmqsocket", "__construct", has_third_id, "A ZMQSocket with a persistent id", NULL},
	{"zmqcontext", "getsocket", has_second_id, "A ZMQSocket with a persistent id", NULL},
	{"amqpconnection", "pconnect", NULL, "AMQPConnection::pconnect()", NULL},
	{"amqpconnection", "preconnect", NULL, "AMQPConnection::preconnect()", NULL},
	{"mongodb\\driver\\manager", "__construct", mongodb_client,
		"A MongoDB\\Driver\\Manager without the driver option \"disableClientPersistence\"", NULL},
};

static zend_function *find(const hearth_sharing *row)
{
	HashTable *functions = CG(function_table);
	zend_class_entry *ce;

	if (row->class_name) {
		ce = zend_hash_str_find_ptr(CG(class_table), row->class_name, strlen(row->class_name));
		functions = ce ? &ce->function_table : NULL;
	}
	return functions ? zend_hash_str_find_ptr(functions, row->function, strlen(row->function)) : NULL;
}

void hearth_intercept_sharing(void)
{
	zend_function *function;

	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		function = find(&table[i]);
		if (function && function->type == ZEND_INTERNAL_FUNCTION && !hearth_intercept_of(function)->sharing) {
			hearth_intercept_of(function)->sharing = &table[i];
		}
	}
	pgsql = zend_hash_str_find_ptr(&module_registry, ZEND_STRL("pgsql"));
	ZEND_HASH_FOREACH_PTR(CG(function_table), function) {
		if (pgsql && function->type == ZEND_INTERNAL_FUNCTION && function->internal_function.module == pgsql
				&& connection_argument(&function->internal_function)) {
			hearth_intercept_of(function)->sharing = &pg_default_link;
		}
	} ZEND_HASH_FOREACH_END();
}

bool hearth_sharing_refuses(zend_execute_data *call, zval *return_value, const hearth_intercept *intercept)
{
	const hearth_sharing *sharing = intercept->sharing;

	if (sharing->instead) {
		return sharing->instead(call, return_value, intercept);
	}
	return several && (!sharing->shares || sharing->shares(call)) && refuse(sharing);
}

void hearth_refuse_persistent(bool refuse_them)
{
	several = refuse_them;
	hearth_process_state_restores(!refuse_them);
}

/*
 * Called when a request has ended and no other runs: closes what ext/pgsql opened for it, unless the app keeps it, and rolls
 * back transactions on persistent connections.
 */
void hearth_connections_end(void)
{
	if (!pg_connected) {
		return;
	}
	pg_connected = false;
	if (pg_strings) {
		zend_hash_clean(pg_strings);
	}
	pgsql->request_shutdown_func(pgsql->type, pgsql->module_number);
	pgsql->request_startup_func(pgsql->type, pgsql->module_number);
}
