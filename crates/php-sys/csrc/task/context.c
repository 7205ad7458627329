/*
 * The contexts of tasks: the C stack, in which the first page of the VM stack is.
 *
 * An ended task keeps its context for the next one. A burst of tasks would so occupy memory for the life of the process, and two of the
 * mappings that the kernel allows for each. So the number of contexts that are kept has a limit.
 */
#include "engine/engine.h"
#include "task/context.h"
#include "task/task.h"

#include <stdio.h>

/* Bytes of stack for scripts: PHP's own scripts recurse as deep as the stack of the process lets them. */
#define HEARTH_SCRIPT_STACK (64 * 1024 * 1024)
/* Contexts of ended tasks that are kept, at least; more if more requests may be in flight. */
#define LEAST_KEPT 1024
#define MAPPINGS_OF_STACK 2
/* The kernel's own default, where it does not tell. */
#define USUAL_MAPPINGS 65530
/* Seconds from one line of the log about refused stacks to the next. */
#define LOG_INTERVAL 10

static char task_kind;
static uint32_t most_kept = LEAST_KEPT;
/* From this number of stacks on, async() makes no more: the rest of the mappings is left for the engine's heap and for requests. */
static size_t most_stacks;

void hearth_contexts_startup(void)
{
	FILE *file = fopen("/proc/sys/vm/max_map_count", "re");
	unsigned long mappings;

	if (!file || fscanf(file, "%lu", &mappings) != 1) {
		mappings = USUAL_MAPPINGS;
	}
	if (file) {
		fclose(file);
	}
	most_stacks = mappings / 4 * 3 / MAPPINGS_OF_STACK;
}

void hearth_contexts_of_requests(uint32_t concurrency)
{
	most_kept = MAX(LEAST_KEPT, 2 * concurrency);
}

/* A process without memory for stacks refuses each request and task: one line in a while tells of all. */
static void log_refused(void)
{
	static double logged = -LOG_INTERVAL;
	static unsigned refused;
	double now = hearth_monotonic();

	refused++;
	if (now - logged >= LOG_INTERVAL) {
		hearth_log(HEARTH_LOG_ERROR, "no memory for the stack of a task (vm.max_map_count, vm.overcommit_memory or an address space limit): "
			"%zu stacks of tasks and Fibers exist; %u refused since the last such line, at most one in %d s", hearth_stack_count, refused, LOG_INTERVAL);
		logged = now;
		refused = 0;
	}
}

bool hearth_context_make(hearth_task *task)
{
	bool script = task->job == HEARTH_JOB_SCRIPT || task->job == HEARTH_JOB_ENTRY;
	size_t size = hearth_stack_size_for(script ? HEARTH_SCRIPT_STACK : HEARTH_TASK_STACK);

	if (!HEARTH_FIBER_INIT(&task->context, &task_kind, hearth_task_entry, size)) {
		if (EG(exception)) {
			zend_clear_exception();
		}
		log_refused();
		return false;
	}
	task->has_context = true;
	task->resume_at = &task->context;
	return true;
}

bool hearth_context_reserve(void)
{
	bool made;
	hearth_task *task;

	if (EXPECTED(hearth_task_has_kept_context())) {
		return true;
	}
	if (hearth_stack_count >= most_stacks) {
		log_refused();
		return false;
	}
	task = hearth_task_new(HEARTH_JOB_NONE, NULL);
	made = hearth_context_make(task);
	hearth_task_keep(task);
	return made;
}

bool hearth_context_keep(hearth_task *task, uint32_t kept)
{
	if (EXPECTED(task->has_context) && UNEXPECTED(kept >= most_kept)) {
		zend_fiber_destroy_context(&task->context);
		task->has_context = false;
	}
	return task->has_context;
}

const zend_fiber_context *hearth_context_below(const zend_fiber_context *context)
{
	if (context->kind == zend_ce_fiber) {
		return zend_fiber_from_context((zend_fiber_context *) context)->caller;
	}
	return context->kind == &task_kind ? ((const hearth_task *) context)->resumer : NULL;
}
