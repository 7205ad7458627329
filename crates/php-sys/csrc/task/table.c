/* The tasks of this process: their ids, and the free list of those that have ended. */
#include "cache/computing.h"
#include "engine/engine.h"
#include "request/request.h"
#include "task/context.h"
#include "task/fiber.h"
#include "task/include_once.h"
#include "task/lazy_objects.h"

/* Ended tasks with a context, and those without one. */
static hearth_task *free_tasks, *bare_tasks;
static uint32_t kept_contexts;
static hearth_task **tasks;
static uint32_t task_count, task_capacity;

/* The id is slot and generation, so that the id of an ended task never names another task. 0 is "no task". */
uint64_t hearth_task_id(const hearth_task *task)
{
	return ((uint64_t) task->generation << 24) | (task->index + 1);
}

uint64_t hearth_task_id_for_others(const hearth_task *task)
{
	return task->job == HEARTH_JOB_SCRIPT || task->job == HEARTH_JOB_CLASSIC ? 0 : hearth_task_id(task);
}

hearth_task *hearth_task_by_id(uint64_t id)
{
	uint32_t index = (uint32_t) (id & 0xffffff);
	hearth_task *task;

	if (index == 0 || index > task_count) {
		return NULL;
	}
	task = tasks[index - 1];
	return task->job != HEARTH_JOB_NONE && hearth_task_id(task) == id ? task : NULL;
}

bool hearth_task_is_alive(uint64_t id)
{
	return hearth_task_by_id(id) != NULL;
}

hearth_task *hearth_task_at(uint32_t index)
{
	return index < task_count ? tasks[index] : NULL;
}

/* Whether a task other than `but` has begun and not ended. */
bool hearth_task_others_wait(const hearth_task *but)
{
	for (uint32_t i = 0; i < task_count; i++) {
		if (tasks[i] != but && tasks[i]->job != HEARTH_JOB_NONE && !tasks[i]->done) {
			return true;
		}
	}
	return false;
}

static bool is_inside(const hearth_task *task, const zend_object *object)
{
	for (const zend_execute_data *call = task->waits_in; call; call = hearth_call_below(call)) {
		if (Z_TYPE(call->This) == IS_OBJECT && Z_OBJ(call->This) == object) {
			return true;
		}
	}
	return false;
}

uint64_t hearth_task_inside(const zend_object *object)
{
	for (uint32_t i = 0; i < task_count; i++) {
		if (tasks[i] != hearth_current && is_inside(tasks[i], object)) {
			return hearth_task_id(tasks[i]);
		}
	}
	return 0;
}

/* Wakes the other parked tasks of the request of `but`, if they can be unparked. */
void hearth_task_unpark_family(const hearth_task *but)
{
	for (uint32_t i = 0; i < task_count; i++) {
		hearth_task *task = tasks[i];

		if (task != but && task->job != HEARTH_JOB_NONE && task->request == but->request && task->owner && !task->done) {
			hearth_on_unpark(task->owner);
		}
	}
}

/* Wakes the tasks of the request that wait for another task to read its body. */
void hearth_task_unpark_readers(const hearth_request_state *request)
{
	for (uint32_t i = 0; i < task_count; i++) {
		if (tasks[i]->awaits_body && tasks[i]->request == request) {
			hearth_on_unpark(tasks[i]->owner);
		}
	}
}

void hearth_task_unpark_object_waiters(void)
{
	for (uint32_t i = 0; i < task_count; i++) {
		if (tasks[i]->awaits_object && !hearth_lazy_object_is_waited_for(tasks[i]->awaits_object)) {
			hearth_on_unpark(tasks[i]->owner);
		}
	}
}

hearth_task *hearth_task_in_file(const zend_string *path, const hearth_task *but)
{
	for (uint32_t i = 0; i < task_count; i++) {
		if (tasks[i] != but && hearth_waits_in_file(tasks[i], path)) {
			return tasks[i];
		}
	}
	return NULL;
}

void hearth_task_unpark_file_waiters(void)
{
	for (uint32_t i = 0; i < task_count; i++) {
		if (tasks[i]->awaits_file && !hearth_task_that_loads(tasks[i]->awaits_file, tasks[i])) {
			hearth_on_unpark(tasks[i]->owner);
		}
	}
}

int hearth_task_wait_for_wake(double seconds)
{
	hearth_task *task = hearth_current;
	int woken;

	task->awaits_wake = true;
	woken = hearth_on_park(seconds);
	task->awaits_wake = false;
	return woken;
}

static hearth_task *allocate(void)
{
	hearth_task *task = pecalloc(1, sizeof *task, 1);

	if (task_count == task_capacity) {
		task_capacity = task_capacity ? task_capacity * 2 : 64;
		tasks = perealloc(tasks, task_capacity * sizeof *tasks, 1);
	}
	task->index = task_count;
	tasks[task_count++] = task;
	return task;
}

/* A script needs a larger stack than ended tasks have. */
static hearth_task *unused(bool with_context)
{
	hearth_task *task = with_context ? free_tasks : NULL;

	if (EXPECTED(task)) {
		free_tasks = task->next_free;
		kept_contexts--;
		return task;
	}
	task = bare_tasks;
	if (task) {
		bare_tasks = task->next_free;
		return task;
	}
	return allocate();
}

hearth_task *hearth_task_new(hearth_job job, hearth_request_state *request)
{
	hearth_task *task = unused(job != HEARTH_JOB_SCRIPT && job != HEARTH_JOB_ENTRY);

	task->generation++;
	task->job = job;
	task->request = request;
	task->done = task->busy = task->broken = task->left = task->interrupted = task->fatal_pending = task->awaits_wake = task->awaits_body = task->parses_for_itself = false;
	task->includes = false;
	task->awaits_value = task->awaits_task = 0;
	task->claims_before = hearth_computing_claims;
	task->ends = 0;
	ZVAL_UNDEF(&task->shown_error_handler);
	task->leases = NULL;
	task->kept_values = NULL;
	task->inside = NULL;
	task->effective_task = 0;
	task->waits_in = NULL;
	task->starter = job == HEARTH_JOB_CALL && hearth_current ? hearth_task_id(hearth_current) : 0;
	hearth_task_state_init(&task->saved);
	return task;
}

void hearth_task_keep(hearth_task *task)
{
	hearth_task **list = &bare_tasks;

	if (EXPECTED(hearth_context_keep(task, kept_contexts))) {
		list = &free_tasks;
		kept_contexts++;
	}
	task->next_free = *list;
	*list = task;
}

bool hearth_task_has_kept_context(void)
{
	return free_tasks != NULL;
}

void *hearth_current_owner(void)
{
	return hearth_current ? hearth_current->owner : NULL;
}

/*
 * Returns the owners of the tasks below the running one, the nearest first. A new task runs up to its first wait on top of the
 * task that began it, or to its end where no task may be left. Background work has no request of its own; up to there it runs in
 * the time of the request below.
 */
size_t hearth_owners_below(void **owners, size_t room)
{
	const hearth_task *task = hearth_current;
	size_t count = 0;

	while (count < room && task && task->outer) {
		task = task->outer;
		owners[count++] = task->owner;
	}
	return count;
}

void *hearth_owner_of_request(void)
{
	const hearth_task *bottom = hearth_current;
	const hearth_request_state *request;

	while (bottom && bottom->outer) {
		bottom = bottom->outer;
	}
	request = bottom ? bottom->request : NULL;
	for (uint32_t i = 0; request && i < task_count; i++) {
		const hearth_task *task = tasks[i];

		if (task->request == request && (task->job == HEARTH_JOB_REQUEST || task->job == HEARTH_JOB_ENTRY) && !task->done) {
			return task->owner;
		}
	}
	return NULL;
}

uint64_t hearth_current_task_id(void)
{
	return hearth_current ? hearth_task_id(hearth_current) : 0;
}
