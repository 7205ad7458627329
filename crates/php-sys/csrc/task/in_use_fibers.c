/*
 * The use of connections and streams by the calls on the stack of a suspended Fiber. It is noted outside of that stack,
 * which may be dropped without being unwound.
 */
#include "engine/intercept.h"
#include "task/marks.h"
#include "task/task.h"

typedef struct fiber_uses {
	hearth_use_list uses;
	const zend_fiber_context *context;
	struct fiber_uses *next;
} fiber_uses;

static fiber_uses *fibers;

void hearth_use_forget(hearth_task *task)
{
	hearth_use_ends(task);
	for (fiber_uses *fiber = fibers; fiber; fiber = fiber->next) {
		if (fiber->uses.count && fiber->uses.used[0].task == hearth_task_id(task)) {
			hearth_use_leave(&fiber->uses);
		}
	}
}

void hearth_use_forget_stack(const zend_fiber_context *context)
{
	for (fiber_uses **place = &fibers; *place; place = &(*place)->next) {
		fiber_uses *fiber = *place;

		if (fiber->context == context) {
			*place = fiber->next;
			hearth_use_leave(&fiber->uses);
			pefree(fiber->uses.used, 1);
			pefree(fiber, 1);
			return;
		}
	}
}

void hearth_use_suspends_fiber(zend_execute_data *call, zval *return_value, const hearth_intercept *intercept)
{
	const zend_fiber_context *context = EG(current_fiber_context);
	hearth_use_list uses = {0};
	hearth_marks marks = {0};
	fiber_uses *fiber;

	if (EG(active_fiber)) {
		hearth_use_add_calls(&uses, &marks, EG(active_fiber)->stack_bottom);
	}
	if (UNEXPECTED(uses.count)) {
		fiber = pemalloc(sizeof *fiber, 1);
		*fiber = (fiber_uses){.uses = uses, .context = context, .next = fibers};
		fibers = fiber;
	}
	intercept->original(call, return_value);
	if (UNEXPECTED(uses.count)) {
		hearth_use_forget_stack(context);
	}
	if (UNEXPECTED(marks.list)) {
		hearth_marks_put_back(&marks);
	}
}
