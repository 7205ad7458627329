/*
 * The collector of cycles. It runs in whichever request fills its buffer or calls gc_collect_cycles(), and destroys what other
 * requests of the process have left too. So it runs in background work: what a destructor, or a Fiber that is destroyed, echoes,
 * sets, reads or throws is not that request's. The worker runs it too, beside requests: see crates/worker/src/collector.rs.
 */
#include "engine/engine.h"
#include "task/collector.h"
#include "task/context.h"
#include "task/no_suspend.h"
#include "task/task.h"

static int (*collect_cycles)(void);
static bool collecting;
static int collected;

static int collect(void)
{
	hearth_section *section = hearth_section_enter(__builtin_frame_address(0));
	int count;

	count = collect_cycles();
	hearth_section_leave(section);
	return count;
}

void hearth_collector_run(void)
{
	/* gc_disable() keeps only the collector from starting by itself. */
	collected = collecting || gc_enabled() ? collect() : 0;
}

/* A script has no other request beside it. Code of Rust that is at work on the task's stack must not be entered again. */
static bool is_in_request(void)
{
	return hearth_current && hearth_current->request && hearth_current->owner && !hearth_current->busy && !hearth_is_cli()
		&& !hearth_booting && !HEARTH_IS_OUT_OF_MEMORY();
}

static int on_collect_cycles(void)
{
	hearth_task *task;
	void *owner;

	if (collecting || !is_in_request()) {
		return collect();
	}
	if (!hearth_context_reserve()) {
		return 0;
	}
	task = hearth_task_new(HEARTH_JOB_COLLECT, hearth_request_state_new(NULL));
	task->background = true;
	owner = task->owner = hearth_on_task_new(hearth_current->owner, task, false);
	collecting = true;
	collected = 0;
	hearth_on_task_start(owner);
	hearth_on_owner_release(owner);
	collecting = false;
	return collected;
}

hearth_task *hearth_collector_task(void *owner)
{
	zend_gc_status status;
	hearth_task *task;

	zend_gc_get_status(&status);
	if (!status.num_roots || gc_protected()) {
		return NULL;
	}
	task = hearth_task_new(HEARTH_JOB_COLLECT, hearth_request_state_new(NULL));
	task->background = true;
	task->owner = owner;
	return task;
}

void hearth_collector_hook(void)
{
	collect_cycles = gc_collect_cycles;
	gc_collect_cycles = on_collect_cycles;
}
