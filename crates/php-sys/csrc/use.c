/*
 * Connections and streams that a task waits in. Another task's call on one of them is refused before the extension is
 * entered: it would mix up two conversations, or free what the first one goes on to use.
 */
#include "interrupted.h"
#include "watch.h"

#include <ext/mysqli/php_mysqli_structs.h>
#include <ext/pdo/php_pdo_driver.h>

#define BUCKETS 256

static hearth_used *buckets[BUCKETS];
static zend_class_entry *pdo, *pdo_statement, *mysqli, *mysqli_statement, *mysqli_result_class;

static hearth_used **bucket_of(const void *what)
{
	return &buckets[((uintptr_t) what >> 4 ^ (uintptr_t) what >> 12) % BUCKETS];
}

/* ---- what stands for a connection ---- */

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

/* The objects of one connection have the same; NULL if there is none. */
static const void *of_object(zend_object *object)
{
	const zend_class_entry *ce = object->ce;

	while (ce->type == ZEND_USER_CLASS && ce->parent) {
		ce = ce->parent;
	}
	if (is_a(ce, pdo)) {
		return php_pdo_dbh_fetch_inner(object);
	}
	if (ce == pdo_statement) {
		return php_pdo_stmt_fetch_object(object)->dbh;
	}
	if (ce == mysqli || ce == mysqli_statement || ce == mysqli_result_class) {
		return mysqli ? of_mysqli(object, ce) : NULL;
	}
	return object;
}

static const void *of_value(zval *value)
{
	if (!value) {
		return NULL;
	}
	switch (Z_TYPE_P(value)) {
		case IS_OBJECT:
			return of_object(Z_OBJ_P(value));
		case IS_RESOURCE:
			return Z_RES_VAL_P(value);
		default:
			return NULL;
	}
}

static const void *of_stream(zval *value)
{
	return value && Z_TYPE_P(value) == IS_RESOURCE ? Z_RES_VAL_P(value) : NULL;
}

/*
 * What the call is made on: the object of a method, the first argument of a function, and the second if it is a stream too.
 * Other arguments may be objects that many calls share, such as callbacks.
 */
static uint32_t collect(zend_execute_data *call, const void *found[HEARTH_MOST_USED])
{
	bool method = Z_TYPE(call->This) == IS_OBJECT;
	const void *first = method ? of_object(Z_OBJ(call->This)) : of_value(hearth_argument(call, 1));
	const void *second = method ? NULL : of_stream(hearth_argument(call, 2));
	uint32_t count = 0;

	if (first) {
		found[count++] = first;
	}
	if (second) {
		found[count++] = second;
	}
	return count;
}

const void *hearth_used_by(zend_execute_data *call)
{
	const void *found[HEARTH_MOST_USED];

	return collect(call, found) ? found[0] : NULL;
}

/* ---- in use ---- */

/* How many entries the buckets have. */
static uint32_t in_use;

static void add(hearth_used *used, const void *const *what, uint32_t count, hearth_task *task, const hearth_watch *watch)
{
	for (uint32_t i = 0; i < count; i++) {
		hearth_used **bucket = bucket_of(what[i]);

		used[i] = (hearth_used){what[i], task, (watch->use & HEARTH_IN_USE_SHARED) != 0, *bucket};
		*bucket = &used[i];
		in_use++;
	}
}

static void remove_all(hearth_used *used, uint32_t count)
{
	while (count-- > 0) {
		hearth_used **place = bucket_of(used[count].what);

		while (*place && *place != &used[count]) {
			place = &(*place)->next;
		}
		if (*place) {
			*place = used[count].next;
			in_use--;
		}
	}
}

void hearth_use_begins(hearth_task *task)
{
	zend_execute_data *call = EG(current_execute_data);
	const hearth_watch *watch = call && call->func ? hearth_watch_known(call->func) : NULL;

	if (watch && watch->use) {
		const void *what[HEARTH_MOST_USED];

		task->used_count = collect(call, what);
		add(task->used, what, task->used_count, task, watch);
	}
}

void hearth_use_ends(hearth_task *task)
{
	if (task->used_count) {
		remove_all(task->used, task->used_count);
		task->used_count = 0;
	}
}

void hearth_use_forget(hearth_task *task)
{
	for (size_t i = 0; i < BUCKETS; i++) {
		for (hearth_used **place = &buckets[i]; *place;) {
			if ((*place)->task == task) {
				*place = (*place)->next;
				in_use--;
			} else {
				place = &(*place)->next;
			}
		}
	}
}

/* The other task that uses one of these. */
static hearth_task *user_of(const void *const *what, uint32_t count, const hearth_watch *watch)
{
	for (uint32_t i = 0; i < count; i++) {
		for (const hearth_used *used = *bucket_of(what[i]); used; used = used->next) {
			if (used->what == what[i] && used->task != hearth_current
					&& (!used->shared || (watch->use & HEARTH_CLOSES))) {
				return used->task;
			}
		}
	}
	return NULL;
}

static int stream_kind, persistent_stream_kind;

/* Has it a wrapper or a filter written in PHP, or is it no stream at all? */
static bool may_run_php(zval *value)
{
	const php_stream *stream;

	if (!value || Z_TYPE_P(value) != IS_RESOURCE) {
		return false;
	}
	if (Z_RES_TYPE_P(value) != stream_kind && Z_RES_TYPE_P(value) != persistent_stream_kind) {
		return true;
	}
	stream = Z_RES_VAL_P(value);
	return stream->readfilters.head || stream->writefilters.head
		|| (stream->ops->label[0] == 'u' && strcmp(stream->ops->label, "user-space") == 0);
}

/* May PHP code run in the call, and wait there? */
static bool nests(zend_execute_data *call, const hearth_watch *watch)
{
	zval *first;

	if (!(watch->use & HEARTH_IN_USE_NESTED)) {
		return false;
	}
	first = hearth_argument(call, 1);
	return !first || Z_TYPE_P(first) != IS_RESOURCE || may_run_php(first) || may_run_php(hearth_argument(call, 2));
}

static void refuse(zend_execute_data *call, hearth_task *other)
{
	zend_string *name = get_function_or_method_name(call->func);

	hearth_on_two_tasks(other->owner, hearth_task_id(other), (hearth_str){ZSTR_VAL(name), ZSTR_LEN(name)});
	zend_string_release(name);
}

/* Is the call to close a descriptor that another task waits on by other means, such as stream_select()? Then it threw. */
static bool closes_what_is_waited_on(zend_execute_data *call)
{
	zval *value = hearth_argument(call, 1);
	php_socket_t fd;

	return value && Z_TYPE_P(value) == IS_RESOURCE && Z_RES_TYPE_P(value) == stream_kind
		&& php_stream_cast((php_stream *) Z_RES_VAL_P(value), PHP_STREAM_AS_FD_FOR_SELECT | PHP_STREAM_CAST_INTERNAL, (void *) &fd, 0)
			== SUCCESS
		&& hearth_on_refuses(fd);
}

void hearth_use(zend_execute_data *call, zval *return_value, const hearth_watch *watch)
{
	const void *what[HEARTH_MOST_USED];
	hearth_used used[HEARTH_MOST_USED];
	uint32_t count = 0;
	hearth_task *other;

	if (in_use) {
		count = collect(call, what);
		other = user_of(what, count, watch);
		if (UNEXPECTED(other)) {
			refuse(call, other);
			return;
		}
	}
	if (UNEXPECTED(hearth_interruptions) && hearth_interrupted_refuses(call)) {
		return;
	}
	if ((watch->use & HEARTH_CLOSES) && closes_what_is_waited_on(call)) {
		return;
	}
	if (EXPECTED(!nests(call, watch))) {
		watch->original(call, return_value);
		return;
	}
	count = collect(call, what);
	add(used, what, count, hearth_current, watch);
	watch->original(call, return_value);
	remove_all(used, count);
}

/* ---- which functions ---- */

/* All functions and methods of these extensions. */
static const char *const modules[] = {
	"pdo", "mysqli", "pgsql", "redis", "memcached", "memcache", "sqlite3", "curl", "sockets", "ldap", "odbc", "imap", "ftp", "ssh2",
	"amqp", "oci8", "interbase", "mongodb",
};

/* Others, and those of the extensions above that call PHP code. */
static const struct {
	const char *name;
	uint8_t use;
} functions[] = {
	{"fclose", HEARTH_CLOSES},
	{"pclose", HEARTH_CLOSES},
	{"stream_socket_shutdown", HEARTH_CLOSES},
	{"flock", HEARTH_IN_USE_SHARED},
	{"fread", HEARTH_IN_USE_NESTED},
	{"fwrite", HEARTH_IN_USE_NESTED},
	{"fgets", HEARTH_IN_USE_NESTED},
	{"fgetc", HEARTH_IN_USE_NESTED},
	{"fgetcsv", HEARTH_IN_USE_NESTED},
	{"fputcsv", HEARTH_IN_USE_NESTED},
	{"fscanf", HEARTH_IN_USE_NESTED},
	{"fpassthru", HEARTH_IN_USE_NESTED},
	{"fflush", HEARTH_IN_USE_NESTED},
	{"fseek", HEARTH_IN_USE_NESTED},
	{"rewind", HEARTH_IN_USE_NESTED},
	{"feof", HEARTH_IN_USE_NESTED},
	{"ftruncate", HEARTH_IN_USE_NESTED},
	{"stream_get_contents", HEARTH_IN_USE_NESTED},
	{"stream_get_line", HEARTH_IN_USE_NESTED},
	{"stream_copy_to_stream", HEARTH_IN_USE_NESTED},
	{"stream_socket_accept", HEARTH_IN_USE},
	{"stream_socket_recvfrom", HEARTH_IN_USE},
	{"stream_socket_sendto", HEARTH_IN_USE},
	{"stream_socket_enable_crypto", HEARTH_IN_USE},
	{"curl_exec", HEARTH_IN_USE_NESTED},
	{"curl_multi_exec", HEARTH_IN_USE_NESTED},
};

static bool is_listed(const zend_module_entry *module)
{
	if (module && strncasecmp(module->name, "pdo_", 4) == 0) {
		return true;
	}
	for (size_t i = 0; module && i < sizeof modules / sizeof *modules; i++) {
		if (strcasecmp(module->name, modules[i]) == 0) {
			return true;
		}
	}
	return false;
}

bool hearth_waits_in_its_calls(const zend_class_entry *ce)
{
	return ce->type == ZEND_INTERNAL_CLASS && is_listed(ce->info.internal.module);
}

static void use_all(HashTable *all)
{
	static const zend_module_entry *last;
	static bool listed;
	zend_function *function;

	ZEND_HASH_FOREACH_PTR(all, function) {
		if (function->type != ZEND_INTERNAL_FUNCTION) {
			continue;
		}
		if (function->internal_function.module != last) {
			last = function->internal_function.module;
			listed = is_listed(last);
		}
		if (listed && !(function->common.fn_flags & ZEND_ACC_ABSTRACT)) {
			hearth_watch_of(function)->use |= HEARTH_IN_USE;
		}
	} ZEND_HASH_FOREACH_END();
}

static zend_class_entry *class_named(const char *name)
{
	return zend_hash_str_find_ptr(CG(class_table), name, strlen(name));
}

void hearth_watch_use(void)
{
	zend_class_entry *ce;
	zend_function *function;

	stream_kind = php_file_le_stream();
	persistent_stream_kind = php_file_le_pstream();
	use_all(CG(function_table));
	ZEND_HASH_FOREACH_PTR(CG(class_table), ce) {
		use_all(&ce->function_table);
	} ZEND_HASH_FOREACH_END();
	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
		function = zend_hash_str_find_ptr(CG(function_table), functions[i].name, strlen(functions[i].name));
		if (function && function->type == ZEND_INTERNAL_FUNCTION) {
			hearth_watch_of(function)->use |= functions[i].use;
		}
	}
	pdo = class_named("pdo");
	pdo_statement = class_named("pdostatement");
	mysqli = class_named("mysqli");
	mysqli_statement = class_named("mysqli_stmt");
	mysqli_result_class = class_named("mysqli_result");
}
