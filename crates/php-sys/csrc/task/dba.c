/*
 * dba_open() of a file that another request of the worker has open. Under php-fpm that request is another process, and the lock of the file makes
 * one wait for the other. In one process the extension refuses the second handle at once, and LMDB and QDBM damage what the first has open. So
 * the request waits here until the other has closed the file.
 */
#include "engine/intercept.h"
#include "task/no_suspend.h"
#include "task/task.h"

#include <unistd.h>

#define FIRST_WAIT 500
#define LONGEST_WAIT 10000

/* A file that dba_open() has opened, or is opening. Before PHP 8.4 the handle is a resource, then an object. */
typedef struct {
	char *path;
	uint32_t handle;
	bool opens, is_object, writes;
	const void *what;                /* the resource's structure, or the object */
	uint64_t task;
} database;

static database *databases;
static uint32_t count, room;

/* What a call asks for. */
typedef struct {
	char *path;
	bool writes, is_lmdb, waits;
} request;

static const char *text(zend_execute_data *call, uint32_t number, const char *otherwise)
{
	const zval *argument = hearth_argument(call, number);

	return argument && Z_TYPE_P(argument) == IS_STRING ? Z_STRVAL_P(argument) : otherwise;
}

/* The path is NULL if the call is wrong: the function says so. */
static request request_of(zend_execute_data *call)
{
	const char *path = text(call, 1, NULL), *mode = text(call, 2, ""), *handler = text(call, 3, INI_STR("dba.default_handler"));

	return (request){
		.path = path && *path ? expand_filepath(path, NULL) : NULL,
		.writes = *mode && *mode != 'r',
		.is_lmdb = handler && strcasecmp(handler, "lmdb") == 0,
		/* "-": without a lock; "t": fail if it is locked */
		.waits = !strpbrk(mode, "-t"),
	};
}

/* The first field of the extension's structure is NULL when the file is closed. */
static bool is_open_object(const database *database)
{
	const zend_object *object = database->handle < EG(objects_store).top ? EG(objects_store).object_buckets[database->handle] : NULL;

	return object && IS_OBJ_VALID(object) && object == database->what
		&& *(const void *const *) ((const char *) object - object->handlers->offset);
}

static bool is_open(const database *database)
{
	const zend_resource *resource;

	if (database->opens) {
		return hearth_task_by_id(database->task) != NULL;
	}
	if (database->is_object) {
		return is_open_object(database);
	}
	resource = zend_hash_index_find_ptr(&EG(regular_list), database->handle);
	return database->what && resource && resource->ptr == database->what;
}

static void forget_closed(void)
{
	for (uint32_t i = 0; i < count;) {
		if (is_open(&databases[i])) {
			i++;
		} else {
			pefree(databases[i].path, 1);
			databases[i] = databases[--count];
		}
	}
}

/* Returns what stands against the call; NULL if nothing does. */
static const database *find(const request *request)
{
	forget_closed();
	for (uint32_t i = 0; i < count; i++) {
		const database *other = &databases[i];

		if ((other->writes || request->writes || request->is_lmdb) && strcmp(other->path, request->path) == 0) {
			return other;
		}
	}
	return NULL;
}

/* A task that has ended, and left the file open in a variable that the app keeps, does not close it. */
static bool is_worth_waiting(const database *other)
{
	return other->task != hearth_task_id(hearth_current) && hearth_task_by_id(other->task) && hearth_may_suspend();
}

static void refuse(const request *request)
{
	zend_throw_error(NULL, "dba_open(): %s is open in this worker already, and LMDB allows a process to open a file once. "
		"Close it with dba_close(), or keep the handle and share it", request->path);
}

static bool wait(const request *request)
{
	useconds_t time = FIRST_WAIT;
	const database *other;

	while ((other = find(request)) && request->waits && is_worth_waiting(other)) {
		usleep(time);
		time = MIN(time * 2, LONGEST_WAIT);
		hearth_bail_out_if_fatal();
		if (EG(exception)) {
			return false;
		}
	}
	if (other && request->is_lmdb) {
		refuse(request);
		return false;
	}
	return true;
}

static void note(const request *request)
{
	if (count == room) {
		room = room ? 2 * room : 8;
		databases = perealloc(databases, room * sizeof *databases, 1);
	}
	databases[count++] = (database){
		.path = pestrdup(request->path, 1), .opens = true, .writes = request->writes, .task = hearth_task_id(hearth_current),
	};
}

static bool before(zend_execute_data *call, zval *return_value)
{
	request request = request_of(call);
	bool goes_on = true;

	(void) return_value;
	if (request.path) {
		goes_on = EXPECTED(count == 0) || wait(&request);
		if (goes_on) {
			note(&request);
		}
		efree(request.path);
	}
	return goes_on;
}

/* Returns the file that the running task is opening. */
static database *opening(void)
{
	for (uint32_t i = count; i-- > 0;) {
		if (databases[i].opens && databases[i].task == hearth_task_id(hearth_current)) {
			return &databases[i];
		}
	}
	return NULL;
}

static void after(zend_execute_data *call, zval *return_value)
{
	database *database = opening();

	(void) call;
	if (!database) {
		return;
	}
	database->opens = false;
	if (Z_TYPE_P(return_value) == IS_OBJECT) {
		database->is_object = true;
		database->handle = Z_OBJ_HANDLE_P(return_value);
		database->what = Z_OBJ_P(return_value);
	} else if (Z_TYPE_P(return_value) == IS_RESOURCE) {
		database->handle = (uint32_t) Z_RES_HANDLE_P(return_value);
		database->what = Z_RES_VAL_P(return_value);
	}
}

void hearth_dba_watch(void)
{
	static const hearth_around around = {.before = before, .after = after};
	zend_function *function = zend_hash_str_find_ptr(CG(function_table), ZEND_STRL("dba_open"));

	if (function) {
		hearth_intercept_of(function)->around = &around;
		hearth_intercept_of(function)->use |= HEARTH_IN_USE;
	}
}
