/*
 * Computations that wait for each other. The task that waits last closes the circle, and computes for itself. A wait counts only while
 * the task that it is for has the claim: a task that polls finds out late that the claim has ended, and its holder may wait for it by then.
 */
#include "cache/computing.h"
#include "engine/engine.h"
#include "task/no_suspend.h"
#include "task/task.h"

/* Computations that are looked at to find a circle of waits. */
#define MOST_HOLDERS 16

/* Hash of a key => the task that has its claim. Keys of one hash only cause a computation more. */
static HashTable claims;
static bool begun;

static zend_ulong hash(hearth_str key)
{
	return zend_inline_hash_func(key.ptr, key.len);
}

static uint32_t running(void)
{
	return hearth_current ? (uint32_t) hearth_task_id(hearth_current) : 0;
}

void hearth_computing_begin(hearth_str key)
{
	zval task;

	if (!begun) {
		zend_hash_init(&claims, 8, NULL, NULL, true);
		begun = true;
	}
	ZVAL_LONG(&task, running());
	zend_hash_index_update(&claims, hash(key), &task);
}

void hearth_computing_end(hearth_str key)
{
	zend_hash_index_del(&claims, hash(key));
}

/* Whether the task that this one waits for still has the claim. */
static bool is_awaiting(const hearth_task *task)
{
	const zval *holder = task->awaits_value && task->job != HEARTH_JOB_NONE && begun ? zend_hash_index_find(&claims, task->awaits_key) : NULL;

	return holder && Z_LVAL_P(holder) == task->awaits_value;
}

/* Whether the task is `other`, or has started that directly or not: such a task waits for the end of what it started. */
static bool is_or_started(uint32_t task, const hearth_task *other)
{
	while (other && (uint32_t) hearth_task_id(other) != task) {
		other = hearth_task_by_id(other->starter);
	}
	return other != NULL;
}

/* Adds the tasks that compute what `holder`, or a task that it has started, waits for. Returns how many there are now. */
static size_t add_awaited(uint32_t holder, uint32_t *holders, size_t count)
{
	const hearth_task *task;

	for (uint32_t i = 0; (task = hearth_task_at(i)) && count < MOST_HOLDERS; i++) {
		size_t known = 0;

		if (!task->awaits_value || !is_or_started(holder, task) || !is_awaiting(task)) {
			continue;
		}
		while (known < count && holders[known] != task->awaits_value) {
			known++;
		}
		holders[known] = task->awaits_value;
		count = MAX(count, known + 1);
	}
	return count;
}

/* Whether the computation waits, directly or through others, for one of the running task. */
static bool would_close_circle(uint32_t holder)
{
	uint32_t holders[MOST_HOLDERS] = {holder};
	size_t count = 1;

	for (size_t i = 0; i < count; i++) {
		if (is_or_started(holders[i], hearth_current)) {
			return true;
		}
		count = add_awaited(holders[i], holders, count);
	}
	return false;
}

/* Asked at each poll: a holder that waits already may get a claim anew, with which its wait counts again. */
bool hearth_computing_await(hearth_str key, uint64_t holder)
{
	if (holder >> 32 != (uint64_t) hearth_process_id()) {
		return true;
	}
	if (!hearth_may_suspend() || (uint32_t) holder == 0 || would_close_circle((uint32_t) holder)) {
		return false;
	}
	hearth_current->awaits_value = (uint32_t) holder;
	hearth_current->awaits_key = hash(key);
	return true;
}

void hearth_computing_awaited(void)
{
	if (hearth_current) {
		hearth_current->awaits_value = 0;
	}
}
