/* This is a generated file, edit the .stub.php file instead.
 * Stub hash: d993fc94ef0dbf107fdef928ceeaf0ee7e3c9688 */

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_INFO_EX(arginfo_Hearth_async, 0, 1, Hearth\\Task, 0)
	ZEND_ARG_TYPE_INFO(0, fn, IS_CALLABLE, 0)
	ZEND_ARG_VARIADIC_TYPE_INFO(0, args, IS_MIXED, 0)
ZEND_END_ARG_INFO()

#define arginfo_Hearth_background arginfo_Hearth_async

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_Hearth_defer, 0, 1, IS_VOID, 0)
	ZEND_ARG_TYPE_INFO(0, fn, IS_CALLABLE, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_Hearth_requestId, 0, 0, IS_STRING, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_Hearth_parallel, 0, 1, IS_ARRAY, 0)
	ZEND_ARG_TYPE_INFO(0, callables, IS_ARRAY, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, limit, IS_LONG, 1, "null")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_Hearth_race, 0, 1, IS_MIXED, 0)
	ZEND_ARG_TYPE_INFO(0, callables, IS_ARRAY, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_Hearth_timeout, 0, 2, IS_MIXED, 0)
	ZEND_ARG_TYPE_INFO(0, seconds, IS_DOUBLE, 0)
	ZEND_ARG_TYPE_INFO(0, fn, IS_CALLABLE, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_INFO_EX(arginfo_Hearth_every, 0, 2, Hearth\\Timer, 0)
	ZEND_ARG_TYPE_INFO(0, seconds, IS_DOUBLE, 0)
	ZEND_ARG_TYPE_INFO(0, fn, IS_CALLABLE, 0)
ZEND_END_ARG_INFO()

#define arginfo_Hearth_after arginfo_Hearth_every

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_Hearth_Internal_processId, 0, 0, IS_LONG, 0)
ZEND_END_ARG_INFO()

#define arginfo_Hearth_Internal_taskId arginfo_Hearth_Internal_processId

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_Hearth_Internal_setEffectiveTask, 0, 1, IS_VOID, 0)
	ZEND_ARG_TYPE_INFO(0, taskId, IS_LONG, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_Hearth_Internal_effectiveTask, 0, 1, IS_LONG, 0)
	ZEND_ARG_TYPE_INFO(0, taskId, IS_LONG, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_Hearth_Internal_park, 0, 0, _IS_BOOL, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, timeout, IS_DOUBLE, 1, "null")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_Hearth_Internal_unpark, 0, 1, _IS_BOOL, 0)
	ZEND_ARG_TYPE_INFO(0, taskId, IS_LONG, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_Hearth_Internal_after, 0, 2, IS_LONG, 0)
	ZEND_ARG_TYPE_INFO(0, seconds, IS_DOUBLE, 0)
	ZEND_ARG_TYPE_INFO(0, callback, IS_CALLABLE, 0)
ZEND_END_ARG_INFO()

#define arginfo_Hearth_Internal_every arginfo_Hearth_Internal_after

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_Hearth_Internal_stopTimer, 0, 1, IS_VOID, 0)
	ZEND_ARG_TYPE_INFO(0, timer, IS_LONG, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_INFO_EX(arginfo_Hearth_Internal_locals, 0, 0, WeakMap, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_Hearth_Internal_onTaskEnd, 0, 2, IS_VOID, 0)
	ZEND_ARG_TYPE_INFO(0, taskId, IS_LONG, 0)
	ZEND_ARG_TYPE_INFO(0, callback, IS_CALLABLE, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_Hearth_Internal_requestOf, 0, 1, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO(0, taskId, IS_LONG, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_Hearth_Internal_monotonic, 0, 0, IS_DOUBLE, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_Hearth_Internal_mysqlReset, 0, 1, _IS_BOOL, 0)
	ZEND_ARG_TYPE_INFO(0, connection, IS_OBJECT, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, statements, IS_ARRAY, 0, "[]")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_Hearth_Internal_mysqlThread, 0, 1, IS_LONG, 0)
	ZEND_ARG_TYPE_INFO(0, connection, IS_OBJECT, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_Hearth_Internal_isInterrupted, 0, 2, _IS_BOOL, 0)
	ZEND_ARG_TYPE_INFO(0, connection, IS_OBJECT, 0)
	ZEND_ARG_TYPE_INFO(0, task, IS_LONG, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_Hearth_Internal_isInUse, 0, 1, _IS_BOOL, 0)
	ZEND_ARG_TYPE_INFO(0, connection, IS_OBJECT, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_Hearth_Internal_clientState, 0, 1, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO(0, connection, IS_OBJECT, 0)
ZEND_END_ARG_INFO()

#define arginfo_Hearth_Internal_closeCursors arginfo_Hearth_Internal_isInUse

#define arginfo_Hearth_Internal_hasInput arginfo_Hearth_Internal_isInUse

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_Hearth_Internal_withTexts, 0, 1, IS_ARRAY, 0)
	ZEND_ARG_TYPE_INFO(0, code, IS_CALLABLE, 0)
ZEND_END_ARG_INFO()

#define arginfo_Hearth_Internal_hasUnreadResult arginfo_Hearth_Internal_isInUse

#define arginfo_Hearth_Internal_disconnect arginfo_Hearth_Internal_isInUse

#define arginfo_Hearth_Internal_hasLeft arginfo_Hearth_Internal_isInUse

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_Hearth_Internal_budget, 0, 2, IS_LONG, 0)
	ZEND_ARG_TYPE_INFO(0, name, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO(0, total, IS_LONG, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_Hearth_Internal_budgetAcquire, 0, 1, _IS_BOOL, 0)
	ZEND_ARG_TYPE_INFO(0, handle, IS_LONG, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, n, IS_LONG, 0, "1")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_Hearth_Internal_budgetUsed, 0, 1, IS_LONG, 0)
	ZEND_ARG_TYPE_INFO(0, handle, IS_LONG, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_Hearth_Internal_report, 0, 1, IS_VOID, 0)
	ZEND_ARG_TYPE_INFO(0, text, IS_STRING, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_Hearth_Internal_budgetRelease, 0, 1, IS_VOID, 0)
	ZEND_ARG_TYPE_INFO(0, handle, IS_LONG, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, n, IS_LONG, 0, "1")
ZEND_END_ARG_INFO()


ZEND_FUNCTION(Hearth_async);
ZEND_FUNCTION(Hearth_background);
ZEND_FUNCTION(Hearth_defer);
ZEND_FUNCTION(Hearth_requestId);
ZEND_FUNCTION(Hearth_parallel);
ZEND_FUNCTION(Hearth_race);
ZEND_FUNCTION(Hearth_timeout);
ZEND_FUNCTION(Hearth_every);
ZEND_FUNCTION(Hearth_after);
ZEND_FUNCTION(Hearth_Internal_processId);
ZEND_FUNCTION(Hearth_Internal_taskId);
ZEND_FUNCTION(Hearth_Internal_setEffectiveTask);
ZEND_FUNCTION(Hearth_Internal_effectiveTask);
ZEND_FUNCTION(Hearth_Internal_park);
ZEND_FUNCTION(Hearth_Internal_unpark);
ZEND_FUNCTION(Hearth_Internal_after);
ZEND_FUNCTION(Hearth_Internal_every);
ZEND_FUNCTION(Hearth_Internal_stopTimer);
ZEND_FUNCTION(Hearth_Internal_locals);
ZEND_FUNCTION(Hearth_Internal_onTaskEnd);
ZEND_FUNCTION(Hearth_Internal_requestOf);
ZEND_FUNCTION(Hearth_Internal_monotonic);
ZEND_FUNCTION(Hearth_Internal_mysqlReset);
ZEND_FUNCTION(Hearth_Internal_mysqlThread);
ZEND_FUNCTION(Hearth_Internal_isInterrupted);
ZEND_FUNCTION(Hearth_Internal_isInUse);
ZEND_FUNCTION(Hearth_Internal_clientState);
ZEND_FUNCTION(Hearth_Internal_closeCursors);
ZEND_FUNCTION(Hearth_Internal_hasInput);
ZEND_FUNCTION(Hearth_Internal_withTexts);
ZEND_FUNCTION(Hearth_Internal_hasUnreadResult);
ZEND_FUNCTION(Hearth_Internal_disconnect);
ZEND_FUNCTION(Hearth_Internal_hasLeft);
ZEND_FUNCTION(Hearth_Internal_budget);
ZEND_FUNCTION(Hearth_Internal_budgetAcquire);
ZEND_FUNCTION(Hearth_Internal_budgetUsed);
ZEND_FUNCTION(Hearth_Internal_report);
ZEND_FUNCTION(Hearth_Internal_budgetRelease);


static const zend_function_entry ext_functions[] = {
	ZEND_NS_FALIAS("Hearth", async, Hearth_async, arginfo_Hearth_async)
	ZEND_NS_FALIAS("Hearth", background, Hearth_background, arginfo_Hearth_background)
	ZEND_NS_FALIAS("Hearth", defer, Hearth_defer, arginfo_Hearth_defer)
	ZEND_NS_FALIAS("Hearth", requestId, Hearth_requestId, arginfo_Hearth_requestId)
	ZEND_NS_FALIAS("Hearth", parallel, Hearth_parallel, arginfo_Hearth_parallel)
	ZEND_NS_FALIAS("Hearth", race, Hearth_race, arginfo_Hearth_race)
	ZEND_NS_FALIAS("Hearth", timeout, Hearth_timeout, arginfo_Hearth_timeout)
	ZEND_NS_FALIAS("Hearth", every, Hearth_every, arginfo_Hearth_every)
	ZEND_NS_FALIAS("Hearth", after, Hearth_after, arginfo_Hearth_after)
	ZEND_NS_FALIAS("Hearth\\Internal", processId, Hearth_Internal_processId, arginfo_Hearth_Internal_processId)
	ZEND_NS_FALIAS("Hearth\\Internal", taskId, Hearth_Internal_taskId, arginfo_Hearth_Internal_taskId)
	ZEND_NS_FALIAS("Hearth\\Internal", setEffectiveTask, Hearth_Internal_setEffectiveTask, arginfo_Hearth_Internal_setEffectiveTask)
	ZEND_NS_FALIAS("Hearth\\Internal", effectiveTask, Hearth_Internal_effectiveTask, arginfo_Hearth_Internal_effectiveTask)
	ZEND_NS_FALIAS("Hearth\\Internal", park, Hearth_Internal_park, arginfo_Hearth_Internal_park)
	ZEND_NS_FALIAS("Hearth\\Internal", unpark, Hearth_Internal_unpark, arginfo_Hearth_Internal_unpark)
	ZEND_NS_FALIAS("Hearth\\Internal", after, Hearth_Internal_after, arginfo_Hearth_Internal_after)
	ZEND_NS_FALIAS("Hearth\\Internal", every, Hearth_Internal_every, arginfo_Hearth_Internal_every)
	ZEND_NS_FALIAS("Hearth\\Internal", stopTimer, Hearth_Internal_stopTimer, arginfo_Hearth_Internal_stopTimer)
	ZEND_NS_FALIAS("Hearth\\Internal", locals, Hearth_Internal_locals, arginfo_Hearth_Internal_locals)
	ZEND_NS_FALIAS("Hearth\\Internal", onTaskEnd, Hearth_Internal_onTaskEnd, arginfo_Hearth_Internal_onTaskEnd)
	ZEND_NS_FALIAS("Hearth\\Internal", requestOf, Hearth_Internal_requestOf, arginfo_Hearth_Internal_requestOf)
	ZEND_NS_FALIAS("Hearth\\Internal", monotonic, Hearth_Internal_monotonic, arginfo_Hearth_Internal_monotonic)
	ZEND_NS_FALIAS("Hearth\\Internal", mysqlReset, Hearth_Internal_mysqlReset, arginfo_Hearth_Internal_mysqlReset)
	ZEND_NS_FALIAS("Hearth\\Internal", mysqlThread, Hearth_Internal_mysqlThread, arginfo_Hearth_Internal_mysqlThread)
	ZEND_NS_FALIAS("Hearth\\Internal", isInterrupted, Hearth_Internal_isInterrupted, arginfo_Hearth_Internal_isInterrupted)
	ZEND_NS_FALIAS("Hearth\\Internal", isInUse, Hearth_Internal_isInUse, arginfo_Hearth_Internal_isInUse)
	ZEND_NS_FALIAS("Hearth\\Internal", clientState, Hearth_Internal_clientState, arginfo_Hearth_Internal_clientState)
	ZEND_NS_FALIAS("Hearth\\Internal", closeCursors, Hearth_Internal_closeCursors, arginfo_Hearth_Internal_closeCursors)
	ZEND_NS_FALIAS("Hearth\\Internal", hasInput, Hearth_Internal_hasInput, arginfo_Hearth_Internal_hasInput)
	ZEND_NS_FALIAS("Hearth\\Internal", withTexts, Hearth_Internal_withTexts, arginfo_Hearth_Internal_withTexts)
	ZEND_NS_FALIAS("Hearth\\Internal", hasUnreadResult, Hearth_Internal_hasUnreadResult, arginfo_Hearth_Internal_hasUnreadResult)
	ZEND_NS_FALIAS("Hearth\\Internal", disconnect, Hearth_Internal_disconnect, arginfo_Hearth_Internal_disconnect)
	ZEND_NS_FALIAS("Hearth\\Internal", hasLeft, Hearth_Internal_hasLeft, arginfo_Hearth_Internal_hasLeft)
	ZEND_NS_FALIAS("Hearth\\Internal", budget, Hearth_Internal_budget, arginfo_Hearth_Internal_budget)
	ZEND_NS_FALIAS("Hearth\\Internal", budgetAcquire, Hearth_Internal_budgetAcquire, arginfo_Hearth_Internal_budgetAcquire)
	ZEND_NS_FALIAS("Hearth\\Internal", budgetUsed, Hearth_Internal_budgetUsed, arginfo_Hearth_Internal_budgetUsed)
	ZEND_NS_FALIAS("Hearth\\Internal", report, Hearth_Internal_report, arginfo_Hearth_Internal_report)
	ZEND_NS_FALIAS("Hearth\\Internal", budgetRelease, Hearth_Internal_budgetRelease, arginfo_Hearth_Internal_budgetRelease)
	ZEND_FE_END
};
