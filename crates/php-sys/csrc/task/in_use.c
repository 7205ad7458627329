/*
 * Connections and streams in use: a task waits in a call on them, or PHP code that such a call runs waits. Another
 * task's call on one of them is refused before the extension is entered: it would mix up two conversations, or free what
 * the first call still uses.
 */
#include "engine/soap.h"
#include "engine/intercept.h"
#include "pool/entry.h"
#include "task/fiber.h"
#include "task/interrupted.h"
#include "task/kept_values.h"
#include "task/marks.h"
#include "task/task.h"

#define BUCKETS 256

static hearth_used *buckets[BUCKETS];

static hearth_used **bucket_of(const void *what)
{
	return &buckets[((uintptr_t) what >> 4 ^ (uintptr_t) what >> 12) % BUCKETS];
}

/* ---- in use ---- */

/* The number of entries in all buckets, and of those with an object. */
uint32_t hearth_uses;
static uint32_t holders;

static void enter_all(hearth_use_list *list)
{
	for (uint32_t i = 0; i < list->count; i++) {
		hearth_used *used = &list->used[i];
		hearth_used **bucket = bucket_of(used->what);

		used->next = *bucket;
		*bucket = used;
		holders += used->object != NULL;
	}
	hearth_uses += list->count;
}

void hearth_use_leave(hearth_use_list *list)
{
	while (list->count > 0) {
		hearth_used *used = &list->used[--list->count];
		hearth_used **place = bucket_of(used->what);

		while (*place != used) {
			place = &(*place)->next;
		}
		*place = used->next;
		holders -= used->object != NULL;
		hearth_uses--;
	}
	/* A task keeps the memory for the next time, unless it was for a large array. */
	if (UNEXPECTED(list->room > HEARTH_KEPT_USES)) {
		pefree(list->used, 1);
		*list = (hearth_use_list){0};
	}
}

void hearth_use_add_calls(hearth_use_list *list, hearth_marks *marks, const zend_execute_data *bottom)
{
	unsigned found = hearth_use_list_calls(list, EG(current_execute_data), bottom);

	enter_all(list);
	if (UNEXPECTED(found & HEARTH_CALLS_MARK) || hearth_in_error_handler(hearth_current)) {
		hearth_marks_put_away(marks, bottom);
	}
	if (UNEXPECTED(found & HEARTH_CALLS_UNOWNED)) {
		hearth_unowned_hold(marks, bottom);
	}
}

void hearth_use_begins(hearth_task *task)
{
	hearth_use_add_calls(&task->uses, &task->marks, NULL);
}

void hearth_use_ends(hearth_task *task)
{
	if (task->uses.count) {
		hearth_use_leave(&task->uses);
	}
	if (UNEXPECTED(task->marks.list)) {
		hearth_marks_put_back(&task->marks);
	}
}

/* ---- calls ---- */

static const hearth_intercept uses = {.use = HEARTH_IN_USE};

/* Returns the other task that uses one of these; 0 if there is none. */
static uint64_t user_of(const void *const *what, uint32_t count, const hearth_intercept *intercept)
{
	uint64_t task = hearth_task_id(hearth_current);

	for (uint32_t i = 0; i < count; i++) {
		for (const hearth_used *used = *bucket_of(what[i]); used; used = used->next) {
			if (used->what == what[i] && used->task != task && (!used->shared || (intercept->use & HEARTH_CLOSES))) {
				return used->task;
			}
		}
	}
	return 0;
}

bool hearth_use_any(const void *what)
{
	const hearth_used *used = *bucket_of(what);

	while (used && used->what != what) {
		used = used->next;
	}
	return used != NULL;
}

static bool holds(const hearth_used *used, const void *stream)
{
	zend_object *object = used->object;
	zval *held;
	int count;

	object->handlers->get_gc(object, &held, &count);
	for (int i = 0; i < count; i++) {
		if (hearth_connection_of_stream(&held[i]) == stream) {
			return true;
		}
	}
	return used->executes && hearth_binds(object, stream);
}

/* Returns the other task in whose call an object of an extension still uses the stream; 0 if there is none. */
static uint64_t holder_of(const void *stream)
{
	uint64_t task = hearth_task_id(hearth_current);

	for (size_t i = 0; i < BUCKETS; i++) {
		for (const hearth_used *used = buckets[i]; used; used = used->next) {
			if (used->object && used->task != task && holds(used, stream)) {
				return used->task;
			}
		}
	}
	return 0;
}

/* Returns the other task that this call would disturb; 0 if there is none. */
static uint64_t disturbed_by(const void *const *what, uint32_t count, const hearth_intercept *intercept)
{
	uint64_t other = intercept->use & HEARTH_HARMLESS ? 0 : user_of(what, count, intercept);

	return !other && UNEXPECTED(holders) && count && (intercept->use & HEARTH_CLOSES) ? holder_of(what[0]) : other;
}

uint64_t hearth_use_user_of(const void *what)
{
	return hearth_uses ? user_of(&what, 1, &uses) : 0;
}

bool hearth_in_use_elsewhere(const void *what)
{
	static const hearth_intercept closes = {.use = HEARTH_CLOSES};

	return hearth_uses && user_of(&what, 1, &closes) != 0;
}

/* Whether a pool refuses the call, because it has lent one of these to another task, or to none. */
static bool is_refused_by_pool(const zend_execute_data *call, const void *const *what, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		if (hearth_pool_calls_refuse(call->prev_execute_data, call->func, what[i])) {
			return true;
		}
	}
	return false;
}

void hearth_use_refuse_what(zend_string *name, uint64_t other)
{
	/* The other task may have ended and left a Fiber in the middle of a call. */
	const hearth_task *task = hearth_task_by_id(other);

	hearth_on_two_tasks(task ? task->owner : NULL, other, (hearth_str){ZSTR_VAL(name), ZSTR_LEN(name)});
	zend_string_release(name);
}

void hearth_use_refuse(const zend_function *function, uint64_t other)
{
	hearth_use_refuse_what(get_function_or_method_name(function), other);
}

/*
 * Holds the arrays: the function goes on with their elements, and another task may have replaced them,
 * as they are by reference.
 */
static void call_with_arrays(zend_execute_data *call, zval *return_value, const hearth_intercept *intercept)
{
	HashTable *held[HEARTH_USE_ARRAYS];

	for (uint32_t i = 0; i < HEARTH_USE_ARRAYS; i++) {
		held[i] = hearth_use_array(call, i + 1);
		if (held[i]) {
			GC_TRY_ADDREF(held[i]);
		}
	}
	intercept->original(call, return_value);
	for (uint32_t i = 0; i < HEARTH_USE_ARRAYS; i++) {
		if (held[i]) {
			zend_array_release(held[i]);
		}
	}
}

/* Executes a statement with what is bound to it: another task may assign to a variable that is bound by reference meanwhile. */
static void execute(zend_execute_data *call, zval *return_value, zif_handler original)
{
	zend_object *statement = Z_OBJ(call->This);
	zend_array *held = hearth_bound_hold(statement);
	hearth_bound_variables *variables = hearth_is_pdo_statement(statement) ? hearth_bound_replace(statement) : NULL;

	original(call, return_value);
	if (UNEXPECTED(variables)) {
		hearth_bound_put_back(statement, variables);
	}
	if (UNEXPECTED(held)) {
		zend_array_release(held);
	}
}

static void call_with_bound(zend_execute_data *call, zval *return_value, const hearth_intercept *intercept)
{
	if (UNEXPECTED(hearth_texts_are_noted())) {
		hearth_texts_note(call);
	}
	if (hearth_executes_bound(call)) {
		execute(call, return_value, intercept->original);
	} else {
		intercept->original(call, return_value);
	}
	if (hearth_pool_calls) {
		hearth_statement_made(call, return_value);
	}
}

static void call_around(zend_execute_data *call, zval *return_value, const hearth_intercept *intercept)
{
	if (intercept->around->before && !intercept->around->before(call, return_value)) {
		return;
	}
	intercept->original(call, return_value);
	if (intercept->around->after) {
		intercept->around->after(call, return_value);
	}
}

/* Whether the call would disturb another task; if so, an exception is pending. */
static bool is_refused(zend_execute_data *call, const hearth_intercept *intercept)
{
	const void *what[HEARTH_MOST_USED];
	uint32_t count = hearth_pool_calls || hearth_uses ? hearth_use_collect(call, what) : 0;
	uint64_t other;

	if (hearth_pool_calls && is_refused_by_pool(call, what, count)) {
		return true;
	}
	if (hearth_uses) {
		other = disturbed_by(what, count, intercept);
		if (UNEXPECTED(other)) {
			hearth_use_refuse(call->func, other);
			return true;
		}
	}
	if (UNEXPECTED(hearth_interruptions) && hearth_interrupted_refuses(call)) {
		return true;
	}
	return (intercept->use & HEARTH_CLOSES) && hearth_closes_what_is_waited_on(call);
}

void hearth_use(zend_execute_data *call, zval *return_value, const hearth_intercept *intercept)
{
	if (is_refused(call, intercept)) {
		return;
	}
	if (UNEXPECTED(intercept->connects_soap)) {
		hearth_soap_request(call, return_value, intercept->original);
	} else if (intercept->bails_out) {
		hearth_soap_call(call, return_value, intercept->original);
	} else if (intercept->use & HEARTH_IN_USE_ARRAYS) {
		call_with_arrays(call, return_value, intercept);
	} else if (UNEXPECTED(intercept->around)) {
		call_around(call, return_value, intercept);
	} else {
		call_with_bound(call, return_value, intercept);
	}
	if (UNEXPECTED(hearth_kept)) {
		hearth_kept_release(hearth_call_below(call));
	}
}

/* ---- setup ---- */

void hearth_use_learn(void)
{
	hearth_connections_find();
}
