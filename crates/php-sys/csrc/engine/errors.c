/* Errors: the log, uncaught exceptions, fatal errors, and errors that Rust raises in PHP. */
#include "engine/engine.h"
#include "request/request.h"
#include "task/marks.h"
#include "task/no_suspend.h"

static smart_str boot_error;

void hearth_log(hearth_log_level level, const char *format, ...)
{
	va_list args;
	char *text;
	size_t length;

	va_start(args, format);
	length = zend_vspprintf(&text, 0, format, args);
	va_end(args);
	hearth_on_log(level, (hearth_str){text, length});
	efree(text);
}

void hearth_boot_failed(const char *text, size_t length)
{
	if (boot_error.s) {
		smart_str_appendc(&boot_error, '\n');
	}
	smart_str_appendl(&boot_error, text, length);
}

/*
 * Gets the exception's own text from __toString(); undefined if that throws. An interrupt is put off: the exception that it
 * raises would be lost here.
 */
void hearth_exception_text(zend_object *exception, zval *text)
{
	zend_function *function = exception->ce->__tostring;
	bool before = hearth_busy(function->type == ZEND_INTERNAL_FUNCTION);

	ZVAL_UNDEF(text);
	zend_call_known_instance_method_with_0_params(function, exception, text);
	hearth_busy(before);
	if (EG(exception)) {
		zend_clear_exception();
	}
	hearth_interrupt();
}

zend_string *hearth_describe_exception(zend_object *exception)
{
	zval text;
	zend_string *described;

	hearth_exception_text(exception, &text);
	described = zend_strpprintf(0, "Uncaught %s", Z_TYPE(text) == IS_STRING ? Z_STRVAL(text) : ZSTR_VAL(exception->ce->name));
	zval_ptr_dtor(&text);
	return described;
}

static zend_class_entry *timeout_ce, *cancelled_ce;

static zend_object *previous_of(zend_object *exception)
{
	zend_class_entry *base = instanceof_function(exception->ce, zend_ce_exception) ? zend_ce_exception : zend_ce_error;
	zval space, *previous = zend_read_property(base, exception, ZEND_STRL("previous"), true, &space);

	return Z_TYPE_P(previous) == IS_OBJECT ? Z_OBJ_P(previous) : NULL;
}

/* An extension reports a read that was ended as an error of its own, and the engine notes the first exception in that one. */
static bool has_cancellation(zend_object *exception)
{
	while (exception && exception->ce != cancelled_ce) {
		exception = previous_of(exception);
	}
	return exception != NULL;
}

/* A client that hung up, or a child that was no longer needed: no error. */
static bool is_cancellation(zend_object *exception)
{
	const hearth_request_state *request = hearth_current_request();

	if (!cancelled_ce) {
		return false;
	}
	return exception->ce == cancelled_ce || (request && request->unheard && has_cancellation(exception));
}

static bool is_worth_a_report(zend_object *exception)
{
	return !zend_is_unwind_exit(exception) && !zend_is_graceful_exit(exception) && !is_cancellation(exception);
}

/* Clears the pending exception and logs it. */
void hearth_report_exception(void)
{
	zend_object *exception = EG(exception);
	zend_string *text;

	if (!exception) {
		return;
	}
	GC_ADDREF(exception);
	zend_clear_exception();
	if (is_worth_a_report(exception)) {
		text = hearth_describe_exception(exception);
		hearth_on_log(HEARTH_LOG_ERROR, (hearth_str){ZSTR_VAL(text), ZSTR_LEN(text)});
		zend_string_release(text);
	}
	OBJ_RELEASE(exception);
}

/* The frame goes on where it was when the exception was thrown; an exception thrown meanwhile would overwrite that place. */
void hearth_exception_put_aside(hearth_pending *pending)
{
	zend_execute_data *frame = EG(current_execute_data);

	*pending = (hearth_pending){EG(exception), EG(opline_before_exception), frame, frame ? frame->opline : NULL};
	EG(exception) = NULL;
}

/*
 * Called when an exception has left PHP code that C code ran. Where the VM runs that C code without a call of PHP
 * code (naming a class, freeing a variable), zend_call_function() leaves the exception so that the VM sees it only by
 * the frame's next opcode.
 */
void hearth_exception_pass_on(void)
{
	zend_execute_data *frame = EG(current_execute_data);

	if (UNEXPECTED(EG(exception)) && frame && frame->func && ZEND_USER_CODE(frame->func->common.type)) {
		zend_rethrow_exception(frame);
	}
}

/* Ends an object, whose code may throw: an exception that was pending before keeps the place that was noted for it. */
void hearth_exception_keep_place(void (*end)(zend_object *), zend_object *object)
{
	zend_execute_data *frame = EG(current_execute_data);
	const zend_op *before = EG(opline_before_exception), *opline;

	if (EXPECTED(!EG(exception)) || !frame || !frame->func) {
		end(object);
		return;
	}
	if (!ZEND_USER_CODE(frame->func->common.type)) {
		/* From 8.4.13 on the end of a generator reads the opcode of any frame. Frames of internal functions leave it uninitialized. */
		frame->opline = NULL;
		end(object);
		return;
	}
	opline = frame->opline;
	end(object);
	frame->opline = opline;
	EG(opline_before_exception) = before;
}

/* Restores the exception that was set aside, if there was one; drops what was thrown meanwhile. */
void hearth_exception_take_back(const hearth_pending *pending)
{
	if (!pending->exception) {
		return;
	}
	if (EG(exception)) {
		OBJ_RELEASE(EG(exception));
	}
	EG(exception) = pending->exception;
	EG(opline_before_exception) = pending->before;
	if (pending->frame) {
		pending->frame->opline = pending->opline;
	}
}

/*
 * Logs the exception that a task ended with, for that task's request. It runs wherever the last reference is released, so an
 * exception may be pending there: that one stays. The logged exception's class may describe itself, in PHP code.
 */
void hearth_report_unseen(zend_object *exception, void *owner)
{
	static const char where[] = "\n  thrown in a task that was never awaited";
	zend_string *text, *line;
	hearth_section *section;
	hearth_pending pending;

	if (!is_worth_a_report(exception)) {
		return;
	}
	hearth_exception_put_aside(&pending);
	section = hearth_section_enter(__builtin_frame_address(0));
	text = hearth_describe_exception(exception);
	hearth_section_leave(section);
	line = zend_string_concat2(ZSTR_VAL(text), ZSTR_LEN(text), where, sizeof where - 1);
	hearth_on_task_log(owner, HEARTH_LOG_ERROR, (hearth_str){ZSTR_VAL(line), ZSTR_LEN(line)});
	zend_string_release(line);
	zend_string_release(text);
	hearth_exception_take_back(&pending);
}

/* The log_message of our sapi_module. */
void hearth_log_message(const char *message, int syslog_type)
{
	if (hearth_is_cli()) {
		fprintf(stderr, "%s\n", message);
		return;
	}
	if (hearth_booting) {
		return;
	}
	hearth_on_log(syslog_type <= 3 ? HEARTH_LOG_ERROR : syslog_type == 4 ? HEARTH_LOG_WARNING : HEARTH_LOG_NOTICE,
		(hearth_str){message, strlen(message)});
}

/* ---- errors ---- */

static void (*report_error)(int, zend_string *, const uint32_t, zend_string *);

#define HEARTH_FATAL (E_ERROR | E_CORE_ERROR | E_COMPILE_ERROR | E_USER_ERROR | E_PARSE | E_RECOVERABLE_ERROR)

/* The compiler's stacks (loops to leave, operations put off) and flags would be applied to the next file otherwise. */
static void reset_compiler(void)
{
	CG(loop_var_stack).top = 0;
	CG(delayed_oplines_stack).top = 0;
	CG(memoized_exprs) = NULL;
	CG(memoize_mode) = 0;
	CG(extra_fn_flags) = 0;
}

/* An extension whose wait was ended may warn of an error of its own, such as a lost connection, while the exception that ended it propagates. */
static bool is_of_ended_wait(int type)
{
	const zend_object *exception = EG(exception);

	return (type & (E_WARNING | E_NOTICE)) && exception && (exception->ce == cancelled_ce || exception->ce == timeout_ce);
}

/*
 * A fatal error ends one task, not the worker's others. PHP's own handler marks every object of the process as
 * destroyed before it bails out; so it only reports here, and the bailout follows.
 */
static void on_error(int type, zend_string *file, const uint32_t line, zend_string *message)
{
	if (hearth_booting && (type & HEARTH_FATAL)) {
		char *text;
		size_t length = zend_spprintf(&text, 0, "%s in %s:%u", ZSTR_VAL(message), file ? ZSTR_VAL(file) : "?", line);

		hearth_boot_failed(text, length);
		efree(text);
	}
	if (UNEXPECTED(is_of_ended_wait(type))) {
		return;
	}
	if (!(type & HEARTH_FATAL) || (type & E_DONT_BAIL)) {
		report_error(type, file, line, message);
		return;
	}
	if (zend_alloc_in_memory_limit_error_reporting()) {
		hearth_discard_echoed();
	}
	report_error(type | E_DONT_BAIL, file, line, message);
	EG(exit_status) = 255;
	zend_set_memory_limit(PG(memory_limit));
	if (CG(in_compilation)) {
		reset_compiler();
	}
	if (hearth_current && hearth_current->request) {
		hearth_marks_forget();
	}
	zend_bailout();
}

zend_string *hearth_fatal_error(void)
{
	bool known = PG(last_error_message) && (PG(last_error_type) & HEARTH_FATAL);

	return known ? zend_string_copy(PG(last_error_message)) : ZSTR_EMPTY_ALLOC();
}

/* A fatal error's memory is not freed: with this much of it, another request would fail for that alone. */
bool hearth_heap_is_full(void)
{
	zend_long limit = PG(memory_limit);

	return limit > 0 && (zend_long) zend_memory_usage(false) > limit - limit / 4;
}

void hearth_errors_hook(void)
{
	report_error = zend_error_cb;
	zend_error_cb = on_error;
}

/* ---- for Rust ---- */

hearth_str hearth_boot_error(void)
{
	smart_str_0(&boot_error);
	return boot_error.s ? (hearth_str){ZSTR_VAL(boot_error.s), ZSTR_LEN(boot_error.s)} : (hearth_str){"", 0};
}

/* The classes of php/src/errors.php. They are not in the library because they are thrown where no class can be loaded. */
void hearth_register_errors(void)
{
	zend_class_entry ce;

	INIT_CLASS_ENTRY(ce, "Hearth\\TimeoutError", NULL);
	timeout_ce = zend_register_internal_class_ex(&ce, zend_ce_error);
	INIT_CLASS_ENTRY(ce, "Hearth\\CancelledError", NULL);
	cancelled_ce = zend_register_internal_class_ex(&ce, zend_ce_error);
	INIT_CLASS_ENTRY(ce, "Hearth\\ChannelClosed", NULL);
	zend_register_internal_class_ex(&ce, spl_ce_RuntimeException)->ce_flags |= ZEND_ACC_FINAL;
}

bool hearth_is_cut_off(const zend_object *exception)
{
	return exception->ce == timeout_ce || exception->ce == cancelled_ce || zend_is_unwind_exit(exception);
}

/*
 * Rust frames are between here and PHP, with waits in them that must be dropped. So a fatal error while the exception is
 * made, such as the memory limit, is put off until those frames have returned.
 */
void hearth_throw(hearth_throwable kind, hearth_str message)
{
	zend_execute_data *frame = EG(current_execute_data);

	if (kind == HEARTH_THROW_UNHEARD && hearth_current_request()) {
		hearth_current_request()->unheard = true;
	}
	if (!frame) {
		/* No PHP code runs that could catch it: the return value tells the caller. */
		return;
	}
	zend_try {
		zend_class_entry *ce = kind == HEARTH_THROW_TIMEOUT ? timeout_ce : cancelled_ce;

		zend_throw_error(kind == HEARTH_THROW_ERROR ? NULL : ce, "%.*s", (int) message.len, message.ptr);
	} zend_catch {
		EG(current_execute_data) = frame;
		hearth_current->fatal_pending = hearth_has_fatal_pending = true;
		hearth_interrupt();
	} zend_end_try();
}
