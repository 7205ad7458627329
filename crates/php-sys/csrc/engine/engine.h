/* The engine as a whole: start and seal, the prelude, errors, functions of namespace Hearth, what a process has one of. */
#ifndef HEARTH_ENGINE_H
#define HEARTH_ENGINE_H

#include "task/task.h"

/* The app is being booted. */
extern bool hearth_booting;
/* max_execution_time, in seconds, as it is now. */
extern zend_long hearth_time_limit;
/* How what was called ended; an exception is taken and described for hearth_boot_error. */
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
/* A function is about to change what the process has. */
void hearth_process_state_note(void);
void hearth_register_errors(void);
void hearth_task_end_broken(hearth_task *task);
void hearth_report_exception(void);
void hearth_report_unseen(zend_object *exception, void *owner);
/* An exception that is under way while other PHP code runs. The exception may be NULL. */
typedef struct { zend_object *exception; const zend_op *before; zend_execute_data *frame; const zend_op *opline; } hearth_pending;
void hearth_exception_put_aside(hearth_pending *pending);
void hearth_exception_pass_on(void);
void hearth_exception_keep_place(void (*end)(zend_object *), zend_object *object);
void hearth_exception_take_back(const hearth_pending *pending);
/* What keeps the app from being up, for hearth_boot_error. */
void hearth_boot_failed(const char *text, size_t length);
zend_string *hearth_describe_exception(zend_object *exception);
/* Is the app one of another framework, whose handler is ours? */
bool hearth_is_framework(void);
void hearth_exception_text(zend_object *exception, zval *text);
void hearth_log_message(const char *message, int syslog_type);
void hearth_watch_errors(void);
/* engine/error_handler.c */
void hearth_error_handler_watch(void);
void hearth_error_handler_begin(hearth_request_state *state);
void hearth_error_handler_end(hearth_request_state *state);
void hearth_error_handler_inherit(hearth_task *task);
void hearth_error_handler_shown(hearth_task *task);
void hearth_error_handler_hidden(hearth_task *task);
/* A task is left: it may be inside the error handler. */
static inline void hearth_error_handler_show(hearth_task *task)
{
	if (Z_TYPE(EG(user_error_handler)) == IS_UNDEF && task->request && UNEXPECTED(Z_TYPE(task->request->known_error_handler) != IS_UNDEF)) {
		hearth_error_handler_shown(task);
	}
}
/* It goes on. */
static inline void hearth_error_handler_hide(hearth_task *task)
{
	if (UNEXPECTED(Z_TYPE(task->shown_error_handler) != IS_UNDEF)) {
		hearth_error_handler_hidden(task);
	}
}
/* The text of the fatal error that has just ended the task that runs; empty if it left none. */
zend_string *hearth_fatal_error(void);
bool hearth_is_cli(void);
bool hearth_is_classic(void);
zend_class_entry *hearth_register_class(const char *name, const zend_function_entry *methods, zend_object *(*create)(zend_class_entry *),
	zend_object_handlers *handlers, size_t offset);
zend_object *hearth_object_new(zend_class_entry *ce, const zend_object_handlers *handlers, size_t size);
zend_long hearth_process_id(void);
/* Seconds, of a clock that is never set. */
double hearth_monotonic(void);
void hearth_watch_install(void);
/* engine/errors.c: does this exception, or exit(), end what the task does from outside? */
bool hearth_is_cut_off(const zend_object *exception);
void hearth_overrides_begin(void);
void hearth_log(hearth_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));
extern const zend_function_entry *const hearth_cli_functions;
extern sapi_module_struct hearth_sapi;
void hearth_bail_out_of_memory(void);

#endif
