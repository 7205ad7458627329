/*
 * The class Hearth\Internal\LeaseTable: which task has which connection of a pool. Every lease and every return is written
 * here; a connection returned in good order while a task waits is handed on at once. All else is decided in PHP:
 * php/src/Pool/Leases.php.
 *
 * A lease is noted at its task, so that one look finds it and the end of the task returns it. In `timeout()`, which runs its
 * function in a task of its own, that is the calling task.
 */
#include "engine/engine.h"
#include "pool/entry.h"
#include "pool/pool.h"
#include "task/interrupted.h"
#include "task/call.h"
#include "pool/lease_table_arginfo.h"

typedef struct {
	struct hearth_lease *outside;     /* leases outside of tasks */
	zend_object *waiters, *borrow_time, *use_time;
	zval returned;
	zend_string *name;
	zend_long process;               /* the process of the leases: a fork leaves them to its parent */
	bool binds, auto_return;
	bool hands_on;                   /* false while the pool is paused */
	bool resets;                     /* whether there may be something to reset */
	bool shows;                      /* whether an entry shows that */
	zend_object std;
} lease_table;

struct hearth_lease {
	lease_table *lease_table;
	zend_object *entry;
	struct hearth_lease *next;
};

static zend_object_handlers handlers;

/* ---- leases ---- */

static lease_table *lease_table_of(zend_object *object)
{
	return (lease_table *) ((char *) object - XtOffsetOf(lease_table, std));
}

/* Returns the task that the running code belongs to in its author's view; NULL outside of tasks. */
static hearth_task *borrower(void)
{
	hearth_task *task = hearth_current, *caller;

	if (task && UNEXPECTED(task->effective_task)) {
		caller = hearth_task_by_id(task->effective_task);
		return caller ? caller : task;
	}
	return task;
}

static struct hearth_lease **leases_of(lease_table *self, hearth_task *task)
{
	return task ? &task->leases : &self->outside;
}

static struct hearth_lease **find(struct hearth_lease **list, const lease_table *self, const zend_object *entry)
{
	while (*list && ((*list)->lease_table != self || (entry && (*list)->entry != entry))) {
		list = &(*list)->next;
	}
	return list;
}

/* Removes the lease; the caller must release the entry. */
static zend_object *end_lease(struct hearth_lease **place)
{
	struct hearth_lease *lease = *place;
	zend_object *entry = lease->entry;

	*place = lease->next;
	OBJ_RELEASE(&lease->lease_table->std);
	efree(lease);
	return entry;
}

/* Drops leases without a return. */
static void forget_leases(lease_table *self, hearth_task *task)
{
	struct hearth_lease **place = leases_of(self, task);

	while (*(place = find(place, self, NULL))) {
		OBJ_RELEASE(end_lease(place));
	}
}

static void begin_lease(lease_table *self, zend_object *entry, double since, double now)
{
	hearth_task *task = borrower();
	struct hearth_lease **list = leases_of(self, task), *lease = emalloc(sizeof *lease);

	*lease = (struct hearth_lease){self, entry, *list};
	*list = lease;
	GC_ADDREF(entry);
	GC_ADDREF(&self->std);
	hearth_pool_entry_lend(entry, task ? (zend_long) hearth_task_id(task) : 0, now);
	hearth_histogram_record(self->borrow_time, now - since);
}

/* Returns whether the entry is in order: it may be lent again as it is. */
static bool note_return(lease_table *self, zend_object *entry)
{
	double now = hearth_monotonic();

	if (UNEXPECTED(hearth_pool_entry_is_first_lease(entry))) {
		hearth_pool_calls_guard(entry, self, self->name);
	}
	hearth_histogram_record(self->use_time, hearth_pool_entry_return(entry, now));
	hearth_pool_entry_forget_last_id(entry);
	return !hearth_pool_entry_is_interrupted(entry) && hearth_pool_entry_is_sound(entry, now) && (!self->resets || (self->shows && hearth_pool_entry_is_unchanged(entry)));
}

static bool hand_on(lease_table *self, zend_object *entry)
{
	zval value;

	ZVAL_OBJ(&value, entry);
	return self->hands_on && hearth_wait_queue_serve(self->waiters, &value, NULL) != NULL;
}

/* Handles the end of a lease. True if the entry was handed on to a task that waited. */
static bool comes_back(lease_table *self, zend_object *entry, bool *in_order)
{
	*in_order = note_return(self, entry);
	return *in_order && hand_on(self, entry);
}

static void call_returned(lease_table *self, zend_object *entry, bool in_order)
{
	zval arguments[2], result;

	ZVAL_OBJ(&arguments[0], entry);
	ZVAL_BOOL(&arguments[1], in_order);
	hearth_call(&self->returned, &result, 2, arguments);
	zval_ptr_dtor(&result);
	if (EG(exception)) {
		hearth_report_exception();
	}
}

/* Returns all leases of a task that ends. */
void hearth_lease_table_return_all(hearth_task *task)
{
	while (task->leases) {
		lease_table *self = task->leases->lease_table;
		zend_object *entry;

		GC_ADDREF(&self->std);
		entry = end_lease(&task->leases);
		if (self->auto_return && self->process == hearth_process_id()) {
			bool in_order;

			if (!comes_back(self, entry, &in_order)) {
				call_returned(self, entry, in_order);
			}
		}
		OBJ_RELEASE(entry);
		OBJ_RELEASE(&self->std);
	}
}

/* ---- the class ---- */

static zend_object *create(zend_class_entry *ce)
{
	return hearth_object_new(ce, &handlers, sizeof(lease_table));
}

static void free_lease_table(zend_object *object)
{
	lease_table *self = lease_table_of(object);

	if (self->waiters) {
		hearth_pool_calls_forget(self, NULL);
		zend_string_release(self->name);
		OBJ_RELEASE(self->waiters);
		OBJ_RELEASE(self->borrow_time);
		OBJ_RELEASE(self->use_time);
		zval_ptr_dtor(&self->returned);
	}
	zend_object_std_dtor(object);
}

/* The pool's closure refers to the pool, so the garbage collector must see it. */
static HashTable *get_gc(zend_object *object, zval **table, int *count)
{
	*table = &lease_table_of(object)->returned;
	*count = 1;
	return NULL;
}

ZEND_METHOD(Hearth_Internal_LeaseTable, __construct)
{
	lease_table *self = lease_table_of(Z_OBJ_P(ZEND_THIS));
	zend_object *waiters, *borrow_time, *use_time;
	zend_string *name;
	zval *returned;
	bool binds, auto_return;

	ZEND_PARSE_PARAMETERS_START(7, 7)
		Z_PARAM_STR(name)
		Z_PARAM_OBJ_OF_CLASS(waiters, hearth_wait_queue_ce)
		Z_PARAM_OBJ_OF_CLASS(borrow_time, hearth_histogram_ce)
		Z_PARAM_OBJ_OF_CLASS(use_time, hearth_histogram_ce)
		Z_PARAM_OBJECT_OF_CLASS(returned, zend_ce_closure)
		Z_PARAM_BOOL(binds)
		Z_PARAM_BOOL(auto_return)
	ZEND_PARSE_PARAMETERS_END();
	self->name = zend_string_copy(name);
	GC_ADDREF(self->waiters = waiters);
	GC_ADDREF(self->borrow_time = borrow_time);
	GC_ADDREF(self->use_time = use_time);
	ZVAL_COPY(&self->returned, returned);
	self->binds = binds;
	self->auto_return = auto_return;
	self->hands_on = self->resets = true;
}

ZEND_METHOD(Hearth_Internal_LeaseTable, current)
{
	lease_table *self = lease_table_of(Z_OBJ_P(ZEND_THIS));
	struct hearth_lease *lease;

	ZEND_PARSE_PARAMETERS_NONE();
	lease = *find(leases_of(self, borrower()), self, NULL);
	if (lease && self->binds && self->process == hearth_process_id()) {
		RETURN_OBJ_COPY(lease->entry);
	}
}

ZEND_METHOD(Hearth_Internal_LeaseTable, find)
{
	lease_table *self = lease_table_of(Z_OBJ_P(ZEND_THIS));
	zend_object *connection;

	ZEND_PARSE_PARAMETERS_START(1, 1)
		Z_PARAM_OBJ(connection)
	ZEND_PARSE_PARAMETERS_END();
	for (struct hearth_lease *lease = *leases_of(self, borrower()); lease; lease = lease->next) {
		if (lease->lease_table == self && hearth_pool_entry_is_of(lease->entry, connection)) {
			RETURN_OBJ_COPY(lease->entry);
		}
	}
}

ZEND_METHOD(Hearth_Internal_LeaseTable, of)
{
	lease_table *self = lease_table_of(Z_OBJ_P(ZEND_THIS));
	hearth_task *task;
	struct hearth_lease *lease;
	zend_long id;

	ZEND_PARSE_PARAMETERS_START(1, 1)
		Z_PARAM_LONG(id)
	ZEND_PARSE_PARAMETERS_END();
	task = hearth_task_by_id((uint64_t) id);
	lease = task || id == 0 ? *find(leases_of(self, task), self, NULL) : NULL;
	if (lease) {
		RETURN_OBJ_COPY(lease->entry);
	}
}

ZEND_METHOD(Hearth_Internal_LeaseTable, lend)
{
	zend_object *entry;
	double since, now = 0;
	bool from_clock = true;

	ZEND_PARSE_PARAMETERS_START(2, 3)
		Z_PARAM_OBJ_OF_CLASS(entry, hearth_pool_entry_ce)
		Z_PARAM_DOUBLE(since)
		Z_PARAM_OPTIONAL
		Z_PARAM_DOUBLE_OR_NULL(now, from_clock)
	ZEND_PARSE_PARAMETERS_END();
	begin_lease(lease_table_of(Z_OBJ_P(ZEND_THIS)), entry, since, from_clock ? hearth_monotonic() : now);
}

ZEND_METHOD(Hearth_Internal_LeaseTable, takeBack)
{
	lease_table *self = lease_table_of(Z_OBJ_P(ZEND_THIS));
	zend_object *entry;
	hearth_task *task;
	struct hearth_lease **place;
	zend_long owner;
	bool in_order;

	ZEND_PARSE_PARAMETERS_START(1, 1)
		Z_PARAM_OBJ_OF_CLASS(entry, hearth_pool_entry_ce)
	ZEND_PARSE_PARAMETERS_END();
	owner = hearth_pool_entry_owner(entry);
	task = hearth_task_by_id((uint64_t) owner);
	if (task || owner == 0) {
		place = find(leases_of(self, task), self, entry);
		if (*place) {
			OBJ_RELEASE(end_lease(place));
		}
	}
	if (!comes_back(self, entry, &in_order)) {
		RETURN_BOOL(in_order);
	}
}

ZEND_METHOD(Hearth_Internal_LeaseTable, begin)
{
	lease_table *self = lease_table_of(Z_OBJ_P(ZEND_THIS));

	ZEND_PARSE_PARAMETERS_NONE();
	self->process = hearth_process_id();
	forget_leases(self, NULL);
	forget_leases(self, borrower());
	hearth_pool_calls_forget(self, NULL);
}

ZEND_METHOD(Hearth_Internal_LeaseTable, forget)
{
	zend_object *entry;

	ZEND_PARSE_PARAMETERS_START(1, 1)
		Z_PARAM_OBJ_OF_CLASS(entry, hearth_pool_entry_ce)
	ZEND_PARSE_PARAMETERS_END();
	hearth_pool_calls_forget(lease_table_of(Z_OBJ_P(ZEND_THIS)), entry);
}

ZEND_METHOD(Hearth_Internal_LeaseTable, handOn)
{
	bool hands_on;

	ZEND_PARSE_PARAMETERS_START(1, 1)
		Z_PARAM_BOOL(hands_on)
	ZEND_PARSE_PARAMETERS_END();
	lease_table_of(Z_OBJ_P(ZEND_THIS))->hands_on = hands_on;
}

ZEND_METHOD(Hearth_Internal_LeaseTable, know)
{
	bool resets, shows;

	ZEND_PARSE_PARAMETERS_START(2, 2)
		Z_PARAM_BOOL(resets)
		Z_PARAM_BOOL(shows)
	ZEND_PARSE_PARAMETERS_END();
	lease_table_of(Z_OBJ_P(ZEND_THIS))->resets = resets;
	lease_table_of(Z_OBJ_P(ZEND_THIS))->shows = shows;
}

/* ---- registration ---- */

void hearth_register_lease_table(void)
{
	hearth_register_class("Hearth\\Internal\\LeaseTable", class_Hearth_Internal_LeaseTable_methods, create, &handlers, XtOffsetOf(lease_table, std));
	handlers.free_obj = free_lease_table;
	handlers.get_gc = get_gc;
}
