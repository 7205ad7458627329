/*
 * Computations that wait for each other. The task that waits last closes the circle, and computes for itself. A wait counts only while
 * the task that it is for has the claim: a task that polls finds out late that the claim has ended, and its holder may wait for it by then.
 */
#include "cache/computing.h"
#include "engine/engine.h"
#include "task/no_suspend.h"
#include "task/task.h"

/*
 * Longest wait in seconds for another process where the task cannot be left, in a destructor that the collector calls for example: nothing else
 * of this process runs meanwhile, and the other may wait here in the same way.
 */
#define LONGEST_BLOCK 1

/* Tasks that are looked at to find a circle of waits. */
#define MOST_AWAITED 16

/* Hash of a key => claim. Keys of one hash only cause a computation more. */
typedef struct {
	uint32_t task;   /* the task that has it */
	uint64_t number; /* of the claims of this process */
	uint64_t token;  /* of the claims of the cache */
} key_claim;

static HashTable claims;
static bool begun;
uint64_t hearth_computing_claims;

/* What must end before a value is there: a task, and those that it has started since the claim of that number. */
typedef struct {
	uint32_t task;
	uint64_t since;
} awaited;

static zend_ulong hash(hearth_str key)
{
	return zend_inline_hash_func(key.ptr, key.len);
}

static uint32_t running(void)
{
	return hearth_current ? (uint32_t) hearth_task_id(hearth_current) : 0;
}

static void free_claim(zval *claim)
{
	pefree(Z_PTR_P(claim), true);
}

void hearth_computing_begin(hearth_str key, uint64_t token)
{
	key_claim *claim = pemalloc(sizeof *claim, true);

	if (!begun) {
		zend_hash_init(&claims, 8, NULL, free_claim, true);
		begun = true;
	}
	*claim = (key_claim){ .task = running(), .number = ++hearth_computing_claims, .token = token };
	zend_hash_index_update_ptr(&claims, hash(key), claim);
}

/* A key that was deleted meanwhile may have been claimed anew: that claim stays. */
void hearth_computing_end(hearth_str key, uint64_t token)
{
	const key_claim *claim = zend_hash_index_find_ptr(&claims, hash(key));

	if (claim && claim->token == token) {
		zend_hash_index_del(&claims, hash(key));
	}
}

/* The claim that the task waits for, if the task that has made it still has it; or NULL. */
static const key_claim *claim_awaited_by(const hearth_task *task)
{
	const key_claim *claim = task->awaits_value && begun ? zend_hash_index_find_ptr(&claims, task->awaits_key) : NULL;

	return claim && claim->task == task->awaits_value ? claim : NULL;
}

/*
 * Whether the task must end first: it is the one, or that one has started it, directly or not, since the claim. A computation may wait for
 * such a task in many ways; for one that was started before, by Hearth\Task::await().
 */
static bool belongs_to(const hearth_task *task, awaited one)
{
	const hearth_task *child = NULL;

	while (task && (uint32_t) hearth_task_id(task) != one.task) {
		child = task;
		task = hearth_task_by_id(task->starter);
	}
	return task && (!child || child->claims_before >= one.since);
}

static size_t add(awaited *list, size_t count, awaited one)
{
	for (size_t i = 0; i < count; i++) {
		if (list[i].task == one.task && list[i].since <= one.since) {
			return count;
		}
	}
	if (count < MOST_AWAITED) {
		list[count++] = one;
	}
	return count;
}

/* Adds what the task and those that belong to it wait for. Returns how many there are now. */
static size_t add_awaited_by(awaited one, awaited *list, size_t count)
{
	const hearth_task *task;

	for (uint32_t i = 0; (task = hearth_task_at(i)); i++) {
		const key_claim *claim;

		if (task->job == HEARTH_JOB_NONE || (!task->awaits_value && !task->awaits_task) || !belongs_to(task, one)) {
			continue;
		}
		claim = claim_awaited_by(task);
		if (claim) {
			count = add(list, count, (awaited){claim->task, claim->number});
		}
		if (task->awaits_task) {
			count = add(list, count, (awaited){task->awaits_task, 0});
		}
	}
	return count;
}

/* Whether the computation waits, directly or through others, for the running task. */
static bool would_close_circle(hearth_str key, uint32_t holder)
{
	const key_claim *claim = begun ? zend_hash_index_find_ptr(&claims, hash(key)) : NULL;
	awaited list[MOST_AWAITED] = {{holder, claim && claim->task == holder ? claim->number : 0}};
	size_t count = 1;

	for (size_t i = 0; i < count; i++) {
		if (belongs_to(hearth_current, list[i])) {
			return true;
		}
		count = add_awaited_by(list[i], list, count);
	}
	return false;
}

/* Asked at each poll: a holder that waits already may get a claim anew, with which its wait counts again. */
bool hearth_computing_await(hearth_str key, uint64_t holder, double since)
{
	if (holder >> 32 != (uint64_t) hearth_process_id()) {
		return hearth_may_suspend() || hearth_monotonic() - since < LONGEST_BLOCK;
	}
	if (!hearth_may_suspend() || (uint32_t) holder == 0 || would_close_circle(key, (uint32_t) holder)) {
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
