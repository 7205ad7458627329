/*
 * The class Hearth\Internal\WaitQueue: tasks that wait, first come first served.
 *
 * The queue is a list through the tasks themselves, because a task that times out or is cancelled leaves from the
 * middle: that must cost the same however many wait, and leave nothing behind. A task waits in one queue at most.
 */
#include "engine/engine.h"
#include "pool/pool.h"
#include "task/no_suspend.h"
#include "pool/wait_queue_arginfo.h"

struct hearth_queue {
	hearth_task *first, *last;
	zend_long count;
	zend_object std;
};

zend_class_entry *hearth_wait_queue_ce;
static zend_object_handlers handlers;

static hearth_queue *queue_of(zend_object *object)
{
	return (hearth_queue *) ((char *) object - XtOffsetOf(hearth_queue, std));
}

static zend_object *create(zend_class_entry *ce)
{
	return hearth_object_new(ce, &handlers, sizeof(hearth_queue));
}

static void join(hearth_queue *queue, hearth_task *task)
{
	hearth_wait_node *place = &task->place;

	place->queue = queue;
	place->next = NULL;
	place->previous = queue->last;
	if (queue->last) {
		queue->last->place.next = task;
	} else {
		queue->first = task;
	}
	queue->last = task;
	queue->count++;
}

static void leave(hearth_task *task)
{
	hearth_wait_node *place = &task->place;
	hearth_queue *queue = place->queue;

	if (place->previous) {
		place->previous->place.next = place->next;
	} else {
		queue->first = place->next;
	}
	if (place->next) {
		place->next->place.previous = place->previous;
	} else {
		queue->last = place->previous;
	}
	place->queue = NULL;
	queue->count--;
}

/* Tasks are still in the queue only where the process ends. */
static void free_queue(zend_object *object)
{
	hearth_queue *queue = queue_of(object);

	while (queue->first) {
		leave(queue->first);
	}
	zend_object_std_dtor(object);
}

/* Waits. Returns 0 when served, 1 after the timeout, 2 when cancelled, with the exception pending. */
static int wait_until(const hearth_wait_node *place, double until)
{
	int woken;

	do {
		/* A negative value would mean no limit. */
		double left = until == ZEND_INFINITY ? 0 : until - hearth_monotonic();

		woken = hearth_task_wait_for_wake(until == ZEND_INFINITY ? -1 : MAX(0, left));
		/* A task that is woken without being served was woken for something else. */
	} while (woken == 0 && !place->served);
	/* Served at the moment of the timeout: otherwise the served value would be lost. */
	return woken == 1 && place->served ? 0 : woken;
}

/* Served and cancelled at the same moment: passes the value on to another task. */
static void pass_on(zend_fcall_info *fci, zend_fcall_info_cache *cache, zval *value)
{
	zval nothing;

	zend_exception_save();
	ZVAL_UNDEF(&nothing);
	fci->retval = &nothing;
	fci->params = value;
	fci->param_count = 1;
	zend_call_function(fci, cache);
	zval_ptr_dtor(&nothing);
	zend_exception_restore();
}

ZEND_METHOD(Hearth_Internal_WaitQueue, wait)
{
	hearth_task *task = hearth_current;
	hearth_wait_node *place;
	zend_fcall_info fci;
	zend_fcall_info_cache cache;
	double timeout, since = 0;
	bool unlimited, from_now = true;
	zval *offer = NULL, value;
	int outcome;

	ZEND_PARSE_PARAMETERS_START(2, 4)
		Z_PARAM_DOUBLE_OR_NULL(timeout, unlimited)
		Z_PARAM_FUNC(fci, cache)
		Z_PARAM_OPTIONAL
		Z_PARAM_ZVAL(offer)
		Z_PARAM_DOUBLE_OR_NULL(since, from_now)
	ZEND_PARSE_PARAMETERS_END();
	if (!hearth_in_task() || hearth_is_no_number(timeout, unlimited)) {
		return;
	}
	place = &task->place;
	place->since = from_now ? hearth_monotonic() : since;
	place->served = false;
	ZVAL_NULL(&place->value);
	if (offer) {
		ZVAL_COPY(&place->value, offer);
	}
	join(queue_of(Z_OBJ_P(ZEND_THIS)), task);
	outcome = wait_until(place, unlimited ? ZEND_INFINITY : place->since + timeout);
	if (place->queue) {
		leave(task);
	}
	ZVAL_COPY_VALUE(&value, &place->value);
	ZVAL_UNDEF(&place->value);
	hearth_bail_out_if_fatal();
	if (outcome == 0) {
		RETURN_COPY_VALUE(&value);
	}
	if (outcome == 2 && place->served) {
		pass_on(&fci, &cache, &value);
	}
	zval_ptr_dtor(&value);
}

/* Returns the task that was served, NULL if no task waits. `*offer` receives the value that the task offered. */
hearth_task *hearth_wait_queue_serve(zend_object *waiters, zval *value, zval *offer)
{
	hearth_queue *queue = queue_of(waiters);
	hearth_task *task = queue->first;
	zval before;

	if (!task) {
		return NULL;
	}
	leave(task);
	/*
	 * The task may have been woken for something else before, such as the end of a task of its request, and not have run
	 * since. If it was cancelled meanwhile, it passes on the value.
	 */
	hearth_on_unpark(task->owner);
	ZVAL_COPY_VALUE(&before, &task->place.value);
	ZVAL_COPY(&task->place.value, value);
	task->place.served = true;
	if (offer) {
		ZVAL_COPY_VALUE(offer, &before);
	} else {
		zval_ptr_dtor(&before);
	}
	return task;
}

ZEND_METHOD(Hearth_Internal_WaitQueue, serve)
{
	zval *value, *offer = NULL, given;
	hearth_task *task;

	ZEND_PARSE_PARAMETERS_START(1, 2)
		Z_PARAM_ZVAL(value)
		Z_PARAM_OPTIONAL
		Z_PARAM_ZVAL(offer)
	ZEND_PARSE_PARAMETERS_END();
	task = hearth_wait_queue_serve(Z_OBJ_P(ZEND_THIS), value, offer ? &given : NULL);
	RETVAL_LONG(task ? (zend_long) hearth_task_id(task) : 0);
	if (task && offer) {
		ZEND_TRY_ASSIGN_REF_VALUE(offer, &given);
	}
}

ZEND_METHOD(Hearth_Internal_WaitQueue, count)
{
	ZEND_PARSE_PARAMETERS_NONE();
	RETURN_LONG(queue_of(Z_OBJ_P(ZEND_THIS))->count);
}

ZEND_METHOD(Hearth_Internal_WaitQueue, oldest)
{
	hearth_queue *queue = queue_of(Z_OBJ_P(ZEND_THIS));

	ZEND_PARSE_PARAMETERS_NONE();
	if (queue->first) {
		RETURN_DOUBLE(queue->first->place.since);
	}
}

/* ---- registration ---- */

void hearth_register_wait_queue(void)
{
	hearth_wait_queue_ce = hearth_register_class("Hearth\\Internal\\WaitQueue", class_Hearth_Internal_WaitQueue_methods, create, &handlers, XtOffsetOf(hearth_queue, std));
	handlers.free_obj = free_queue;
}
