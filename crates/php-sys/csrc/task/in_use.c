/*
 * Connections and streams that a task waits in. Another task's call on one of them is refused before the extension is
 * entered: it would mix up two conversations, or free what the first one goes on to use.
 */
#include "engine/watch.h"
#include "pool/entry.h"
#include "task/interrupted.h"
#include "task/task.h"

#define BUCKETS 256

static hearth_used *buckets[BUCKETS];
static int stream_kind, persistent_stream_kind;

static hearth_used **bucket_of(const void *what)
{
	return &buckets[((uintptr_t) what >> 4 ^ (uintptr_t) what >> 12) % BUCKETS];
}

/*
 * What the call is made on: the object of a method, the first argument of a function, and the second if it is a stream too.
 * Other arguments may be objects that many calls share, such as callbacks.
 */
static uint32_t collect(zend_execute_data *call, const void *found[HEARTH_MOST_USED])
{
	bool method = Z_TYPE(call->This) == IS_OBJECT;
	const void *first = method ? hearth_connection_of_object(Z_OBJ(call->This)) : hearth_connection_of_value(hearth_argument(call, 1));
	const void *second = method ? NULL : hearth_connection_of_stream(hearth_argument(call, 2));
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

static void enter(hearth_used *used)
{
	hearth_used **bucket = bucket_of(used->what);

	used->next = *bucket;
	*bucket = used;
	in_use++;
}

static void add(hearth_used *used, const void *const *what, uint32_t count, hearth_task *task, const hearth_watch *watch)
{
	for (uint32_t i = 0; i < count; i++) {
		used[i] = (hearth_used){.what = what[i], .task = task, .shared = (watch->use & HEARTH_IN_USE_SHARED) != 0};
		enter(&used[i]);
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

static HashTable *array_of(zend_execute_data *call, uint32_t number)
{
	zval *value = hearth_argument(call, number);

	return value && Z_TYPE_P(value) == IS_ARRAY ? Z_ARRVAL_P(value) : NULL;
}

#define ARRAYS 3

/* What select-like functions wait for. */
static void add_arrays(zend_execute_data *call, hearth_task *task, const hearth_watch *watch)
{
	uint32_t most = 0;
	zval *value;

	for (uint32_t i = 1; i <= ARRAYS; i++) {
		most += array_of(call, i) ? zend_hash_num_elements(array_of(call, i)) : 0;
	}
	task->used_in_arrays = most ? pemalloc(most * sizeof *task->used_in_arrays, 1) : NULL;
	for (uint32_t i = 1; i <= ARRAYS; i++) {
		HashTable *array = array_of(call, i);

		if (!array) {
			continue;
		}
		ZEND_HASH_FOREACH_VAL(array, value) {
			const void *what;

			ZVAL_DEREF(value);
			what = hearth_connection_of_value(value);
			if (what) {
				hearth_used *used = &task->used_in_arrays[task->used_in_arrays_count++];

				*used = (hearth_used){.what = what, .task = task, .shared = (watch->use & HEARTH_IN_USE_SHARED) != 0};
				enter(used);
			}
		} ZEND_HASH_FOREACH_END();
	}
}

static void forget_arrays(hearth_task *task)
{
	hearth_used *used = task->used_in_arrays;
	uint32_t count = task->used_in_arrays_count;

	task->used_in_arrays = NULL;
	task->used_in_arrays_count = 0;
	remove_all(used, count);
	pefree(used, 1);
}

void hearth_use_begins(hearth_task *task)
{
	zend_execute_data *call = EG(current_execute_data);
	const hearth_watch *watch = call && call->func ? hearth_watch_known(call->func) : NULL;

	if (watch && watch->use) {
		const void *what[HEARTH_MOST_USED];

		task->used_count = collect(call, what);
		add(task->used, what, task->used_count, task, watch);
		if (watch->use & HEARTH_IN_USE_ARRAYS) {
			add_arrays(call, task, watch);
		}
	}
}

void hearth_use_ends(hearth_task *task)
{
	if (task->used_count) {
		remove_all(task->used, task->used_count);
		task->used_count = 0;
	}
	if (UNEXPECTED(task->used_in_arrays)) {
		forget_arrays(task);
	}
}

/*
 * A call in which PHP code may run and wait, until it returns. It is noted elsewhere than on its stack: a fatal error leaves the call
 * without an end, and a Fiber's stack goes with it.
 */
typedef struct nested_call {
	hearth_used used[HEARTH_MOST_USED];
	uint32_t count;
	const hearth_task *task;
	const zend_fiber_context *context;
	struct nested_call *next;
} nested_call;

static nested_call *nested_calls, *spare_calls;

static nested_call *begin_nested(const void *const *what, uint32_t count, const hearth_watch *watch)
{
	nested_call *call = spare_calls;

	if (call) {
		spare_calls = call->next;
	} else {
		call = pemalloc(sizeof *call, 1);
	}
	call->count = count;
	call->task = hearth_current;
	call->context = EG(current_fiber_context);
	call->next = nested_calls;
	nested_calls = call;
	add(call->used, what, count, hearth_current, watch);
	return call;
}

/* Those of `task`, or on the stack of `context`, or the one. */
static void end_nested(const hearth_task *task, const zend_fiber_context *context, const nested_call *one)
{
	for (nested_call **place = &nested_calls; *place;) {
		nested_call *call = *place;

		if (call == one || (task && call->task == task) || call->context == context) {
			remove_all(call->used, call->count);
			*place = call->next;
			call->next = spare_calls;
			spare_calls = call;
		} else {
			place = &call->next;
		}
	}
}

void hearth_use_forget(hearth_task *task)
{
	hearth_use_ends(task);
	end_nested(task, NULL, NULL);
}

void hearth_use_forget_stack(const zend_fiber_context *context)
{
	end_nested(NULL, context, NULL);
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

bool hearth_in_use_elsewhere(const void *what)
{
	static const hearth_watch closes = {.use = HEARTH_CLOSES};

	return in_use && user_of(&what, 1, &closes) != NULL;
}

/* Has a pool lent it to another task, or to none? */
static bool is_refused_by_pool(zend_execute_data *call)
{
	const void *what[HEARTH_MOST_USED];
	uint32_t count = collect(call, what);

	for (uint32_t i = 0; i < count; i++) {
		if (hearth_pool_calls_refuse(call, what[i])) {
			return true;
		}
	}
	return false;
}

static bool is_user_stream(const php_stream *stream)
{
	return stream->ops->label[0] == 'u' && strcmp(stream->ops->label, "user-space") == 0;
}

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
	return stream->readfilters.head || stream->writefilters.head || is_user_stream(stream);
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
	php_stream *stream;
	php_socket_t fd;

	if (!value || Z_TYPE_P(value) != IS_RESOURCE || Z_RES_TYPE_P(value) != stream_kind) {
		return false;
	}
	stream = Z_RES_VAL_P(value);
	/* A user stream has no descriptor of its own, and would be asked for one by its stream_cast(). */
	return !is_user_stream(stream)
		&& php_stream_cast(stream, PHP_STREAM_AS_FD_FOR_SELECT | PHP_STREAM_CAST_INTERNAL, (void *) &fd, 0) == SUCCESS
		&& hearth_on_refuses(fd);
}

/* The function goes on with what stands in its arrays when another task has long changed them: they are by reference. */
static void call_with_arrays(zend_execute_data *call, zval *return_value, const hearth_watch *watch)
{
	HashTable *held[ARRAYS];

	for (uint32_t i = 0; i < ARRAYS; i++) {
		held[i] = array_of(call, i + 1);
		if (held[i]) {
			GC_TRY_ADDREF(held[i]);
		}
	}
	watch->original(call, return_value);
	for (uint32_t i = 0; i < ARRAYS; i++) {
		if (held[i]) {
			zend_array_release(held[i]);
		}
	}
}

static void call_original(zend_execute_data *call, zval *return_value, const hearth_watch *watch)
{
	const void *what[HEARTH_MOST_USED];
	uint32_t count;
	nested_call *nested;

	if (EXPECTED(!nests(call, watch))) {
		watch->original(call, return_value);
		return;
	}
	count = collect(call, what);
	nested = begin_nested(what, count, watch);
	watch->original(call, return_value);
	end_nested(NULL, NULL, nested);
}

void hearth_use(zend_execute_data *call, zval *return_value, const hearth_watch *watch)
{
	const void *what[HEARTH_MOST_USED];
	uint32_t count = 0;
	hearth_task *other;

	if (hearth_pool_calls && is_refused_by_pool(call)) {
		return;
	}
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
	if (watch->use & HEARTH_IN_USE_ARRAYS) {
		call_with_arrays(call, return_value, watch);
		return;
	}
	if (UNEXPECTED(hearth_texts_are_noted())) {
		hearth_texts_note(call);
	}
	call_original(call, return_value, watch);
	if (hearth_pool_calls) {
		hearth_statement_made(call, return_value);
	}
}

/* ---- setup ---- */

void hearth_use_learn(void)
{
	stream_kind = php_file_le_stream();
	persistent_stream_kind = php_file_le_pstream();
	hearth_connections_find();
}
