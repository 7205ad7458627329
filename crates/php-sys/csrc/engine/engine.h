/* The engine as a whole: boot and seal, the prelude, errors, the functions of namespace Hearth, process-wide state. */
#ifndef HEARTH_ENGINE_H
#define HEARTH_ENGINE_H

#include "task/task.h"

/* Whether the app is being booted. */
extern bool hearth_booting;
/* The current max_execution_time, in seconds. */
extern zend_long hearth_time_limit;
/* Returns how the PHP code that was called ended; clears a pending exception and describes it for hearth_boot_error. */
hearth_outcome hearth_outcome_of_exception(void);
void hearth_prelude_prepare(void);
void hearth_prelude_begin(void);
void hearth_prelude_in_requests(void);
void hearth_prelude_forget(void);
void hearth_begin_observers(const char *script);
zend_class_entry *hearth_prelude_autoload(zend_string *lower);
zend_class_entry *hearth_prelude_class(const char *name);
void hearth_prelude_call(zend_function **method, const char *class, const char *name, uint32_t argc, zval *args, zval *result);
void hearth_process_state_restores(bool one_at_a_time);
void hearth_process_state_restore(hearth_request_state *state);
/* Notes the process-wide state before a function changes it. */
void hearth_process_state_note(void);
void hearth_process_state_put_back(hearth_request_state *state);
/* Classic mode: puts it back when the engine has ended a request. */
void hearth_process_state_restore_classic(void);
void hearth_register_errors(void);
void hearth_task_end_broken(hearth_task *task);
/* Called at the end of boot: notes what the compiler begins with. */
void hearth_loading_seal(void);
void hearth_report_exception(void);
void hearth_report_unseen(zend_object *exception, void *owner);
/* A pending exception, set aside while other PHP code runs; `exception` may be NULL. */
typedef struct { zend_object *exception; const zend_op *before; zend_execute_data *frame; const zend_op *opline; } hearth_pending;
void hearth_exception_put_aside(hearth_pending *pending);
void hearth_exception_pass_on(void);
void hearth_exception_keep_place(void (*end)(zend_object *), zend_object *object);
void hearth_exception_take_back(const hearth_pending *pending);
/* Adds a reason why the app cannot boot, for hearth_boot_error. */
void hearth_boot_failed(const char *text, size_t length);
zend_string *hearth_describe_exception(zend_object *exception);
/* Whether the handler was made from a framework's app or a FrankenPHP loop: it is not the entry script's own callable. */
bool hearth_is_framework(void);
void hearth_exception_text(zend_object *exception, zval *text);
void hearth_log_message(const char *message, int syslog_type);
void hearth_errors_hook(void);
/* engine/read_directory.c: has the linker keep the function that reads directories. */
void hearth_read_directory_hook(void);
/* engine/descriptor_sets.c: has the linker keep the function that looks at descriptors of select(2). */
void hearth_descriptor_sets_hook(void);
/* engine/error_handler.c */
void hearth_error_handler_hook(void);
void hearth_error_handler_begin(hearth_request_state *state);
void hearth_error_handler_end(hearth_request_state *state);
void hearth_error_handler_inherit(hearth_task *task);
void hearth_error_handler_shown(hearth_task *task);
void hearth_error_handler_hidden(hearth_task *task);
void hearth_error_handler_put_away(zval *handler);
void hearth_error_handler_put_back(zval *handler);
/* Whether the task is inside the request's error handler, which the engine hides meanwhile. */
static inline bool hearth_in_error_handler(const hearth_task *task)
{
	return Z_TYPE(EG(user_error_handler)) == IS_UNDEF && task->request && UNEXPECTED(Z_TYPE(task->request->known_error_handler) != IS_UNDEF);
}

/* Called when a task is left: inside the request's error handler, the other tasks see the handler as set. */
static inline void hearth_error_handler_show(hearth_task *task)
{
	if (hearth_in_error_handler(task)) {
		hearth_error_handler_shown(task);
	}
}
/* Called when the task goes on: undoes hearth_error_handler_show. */
static inline void hearth_error_handler_hide(hearth_task *task)
{
	if (UNEXPECTED(Z_TYPE(task->shown_error_handler) != IS_UNDEF)) {
		hearth_error_handler_hidden(task);
	}
}
/* Returns the text of the fatal error that has just ended the running task; empty if there is none. */
zend_string *hearth_fatal_error(void);
bool hearth_is_cli(void);
bool hearth_is_classic(void);
zend_class_entry *hearth_register_class(const char *name, const zend_function_entry *methods, zend_object *(*create)(zend_class_entry *),
	zend_object_handlers *handlers, size_t offset);
zend_object *hearth_object_new(zend_class_entry *ce, const zend_object_handlers *handlers, size_t size);
zend_long hearth_process_id(void);
/* Returns the seconds of CLOCK_MONOTONIC. */
double hearth_monotonic(void);
void hearth_intercept_install(void);
/* engine/errors.c: whether the exception is a timeout, a cancellation or an exit(): an end of the task from outside. */
bool hearth_is_cut_off(const zend_object *exception);
void hearth_overrides_begin(void);
void hearth_log(hearth_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));
extern const zend_function_entry *const hearth_cli_functions;
extern sapi_module_struct hearth_sapi;
void hearth_bail_out_of_memory(void);

#endif
