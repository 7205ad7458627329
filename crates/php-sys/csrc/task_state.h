/*
 * What belongs to one task or one request and not to the worker.
 *
 * This is the one list of engine state that is exchanged when the thread changes from one task to another. What the
 * engine's own zend_fiber_switch_context saves (VM stack, current frame, error_reporting, bailout, active Fiber, stack
 * limits) is left out.
 */
#ifndef HEARTH_TASK_STATE_H
#define HEARTH_TASK_STATE_H

#include "compat.h"
#include "hearth.h"

/* Per task: what a function may leave half done at a wait. X(live value, type, field) */
#define HEARTH_TASK_FIELDS(X) \
	/* ob_start() and friends nest; two tasks would close each other's buffers */ \
	X(output_globals, zend_output_globals, output) \
	/* a destructor that waits runs while an exception is under way */ \
	X(EG(exception), zend_object *, exception) \
	X(EG(prev_exception), zend_object *, prev_exception) \
	X(EG(opline_before_exception), const zend_op *, opline_before_exception) \
	/* constructors of internal classes turn warnings into exceptions for their duration */ \
	X(EG(error_handling), zend_error_handling_t, error_handling) \
	X(EG(exception_class), zend_class_entry *, exception_class) \
	X(EG(exit_status), int, exit_status) \
	X(EG(ticks_count), int, ticks_count) \
	/* strtok() keeps its place between calls */ \
	X(BG(strtok_string), zend_string *, strtok_string) \
	X(BG(strtok_last), char *, strtok_last) \
	X(BG(strtok_len), size_t, strtok_len) \
	/* the parser of a multipart body waits for more of it */ \
	X(PG(rfc1867_protected_variables), HashTable, protected_variables) \
	X(PG(modules_activated), bool, modules_activated) \
	/* __sleep, __wakeup and __unserialize may wait, in the middle of the outer call */ \
	X(BG(serialize_lock), unsigned, serialize_lock) \
	X(BG(serialize).data, struct php_serialize_data *, serialize_data) \
	X(BG(serialize).level, unsigned, serialize_level) \
	X(BG(unserialize).data, struct php_unserialize_data *, unserialize_data) \
	X(BG(unserialize).level, unsigned, unserialize_level) \
	/* the comparison of usort() may wait */ \
	X(BG(user_compare_fci), zend_fcall_info, user_compare_fci) \
	X(BG(user_compare_fci_cache), zend_fcall_info_cache, user_compare_fci_cache) \
	HEARTH_TASK_FIELDS_OF_VERSION(X)

/* Per request, shared with the tasks it starts. */
#define HEARTH_REQUEST_FIELDS(X) \
	X(SG(server_context), void *, server_context) \
	X(SG(request_info), sapi_request_info, request_info) \
	X(SG(sapi_headers), sapi_headers_struct, sapi_headers) \
	X(SG(read_post_bytes), int64_t, read_post_bytes) \
	X(SG(post_read), unsigned char, post_read) \
	X(SG(headers_sent), unsigned char, headers_sent) \
	X(SG(rfc1867_uploaded_files), HashTable *, uploaded_files) \
	X(SG(global_request_time), double, request_time) \
	X(SG(callback_func), zval, header_callback) \
	X(SG(fci_cache), zend_fcall_info_cache, header_callback_cache) \
	/* set_error_handler(), set_exception_handler() */ \
	X(EG(user_error_handler), zval, error_handler) \
	X(EG(user_error_handler_error_reporting), int, error_handler_reporting) \
	X(EG(user_exception_handler), zval, exception_handler) \
	X(EG(user_error_handlers_error_reporting), zend_stack, error_handlers_reporting) \
	X(EG(user_error_handlers), zend_stack, error_handlers) \
	X(EG(user_exception_handlers), zend_stack, exception_handlers) \
	/* error_get_last() */ \
	X(PG(last_error_type), int, last_error_type) \
	X(PG(last_error_message), zend_string *, last_error_message) \
	X(PG(last_error_file), zend_string *, last_error_file) \
	X(PG(last_error_lineno), int, last_error_line) \
	X(PG(connection_status), short, connection_status) \
	/* register_shutdown_function() */ \
	X(BG(user_shutdown_function_names), HashTable *, shutdown_functions)

#define HEARTH_DECLARE_FIELD(live, type, field) type field;

typedef struct {
	HEARTH_TASK_FIELDS(HEARTH_DECLARE_FIELD)
	bool fresh;                      /* it has not run: what it begins with is the same for all, and not in here */
} hearth_task_state;

/* $_GET $_POST $_COOKIE $_SERVER $_FILES $_REQUEST $_SESSION, in the order of name_list in superglobals.c. */
#define HEARTH_SUPERGLOBALS 7
/* What ext/filter keeps of a request: see input_filter.c. */
#define HEARTH_FILTER_INPUTS 5

typedef struct { zend_ini_entry *entry; zend_string *value; } hearth_ini_change;

typedef struct hearth_request_state {
	HEARTH_REQUEST_FIELDS(HEARTH_DECLARE_FIELD)

	bool fresh;                      /* as in hearth_task_state */
	bool released;                   /* it has ended, and what the fields above held is freed */
	uint32_t tasks;                  /* how many tasks share it; freed with the last */
	void *request;                   /* the Rust side's request, or NULL for background work */
	zend_object *request_object;

	/* Superglobals are made at first use (see superglobals.c); only then are they exchanged. */
	bool superglobals_live;
	bool body_due;                   /* what is in the body is still to be parsed */
	unsigned char body_failed;       /* why the parser of an upload ended in the middle; 0: it did not */
	bool records_progress;           /* of the upload that is parsed: see upload_progress.c */
	struct hearth_task *body_reader; /* the task that reads the body, and how many wait for it to be done */
	uint32_t body_waiters;
	zval superglobals[HEARTH_SUPERGLOBALS];
	zval http_globals[NUM_TRACK_VARS];
	zval filter_input[HEARTH_FILTER_INPUTS];

	/* ini_set(): the values to put back when the task runs again. */
	HashTable *modified_ini;
	hearth_ini_change *ini_changes;
	uint32_t ini_change_count;

	/* set_error_handler(): the engine hides it while it runs, see error_handler.c */
	zval known_error_handler;
	/* date_default_timezone_set() */
	char *timezone;
	/* libxml_use_internal_errors() was called: to be undone at the end */
	bool libxml_used;

	/* The active session, when there is one. */
	php_ps_globals *session;

	smart_str out;                   /* what was echoed and not sent yet */
	bool committed;                  /* the head was sent; `out` goes straight to the client */
	bool responded;
	bool continues;                  /* a loop: the script goes on after the response */
	bool finished;                   /* the script said that this was all of it; what is echoed now goes nowhere */
	bool gone;                       /* the client hung up */
	bool failed;                     /* the handler threw: its children are not wanted any more */
	bool orphans;                    /* it has children that cannot be waited for, as in a process that PHP code forked */
	bool broken;                     /* one of its tasks ended in a fatal error: its memory is not used again */

	HashTable *deferred;
	zval locals;                     /* the WeakMap behind Hearth\Local */
	struct hearth_request_state *next_free;
} hearth_request_state;

/* error_reporting at the end of boot: what each task begins with. */
extern int hearth_error_reporting;

void hearth_state_seal(bool cli);
hearth_request_state *hearth_request_state_new(void *request);
void hearth_request_state_free(hearth_request_state *state);
void hearth_task_state_init(hearth_task_state *state);

/* Exchange: the state of who ran is put away, that of who runs next becomes live. A task that has ended is NULL. */
void hearth_state_save(hearth_task_state *task, hearth_request_state *request);
void hearth_state_load(const hearth_task_state *task, hearth_request_state *request);
/* Instead of saving it, once a task, or the one task of a request, is at its end. */
void hearth_task_state_end(void);
void hearth_state_end(hearth_request_state *request);

void hearth_register_server_variables(zval *server);
void hearth_server_variables_seal(zval *server);
void hearth_request_info_need(void);
void hearth_superglobals_hook(void);
void hearth_superglobals_need(bool form);
void hearth_superglobals_save(hearth_request_state *state);
void hearth_superglobals_load(hearth_request_state *state);
void hearth_superglobals_clear(void);
void hearth_superglobals_seal(void);
void hearth_input_filter_hook(void);
void hearth_input_filter_save(zval *into);
void hearth_input_filter_load(const zval *from);
void hearth_input_filter_clear(void);

void hearth_session_end(void);
bool hearth_session_in_use(void);
void hearth_upload_progress_hook(void);
void hearth_upload_progress_begin(hearth_request_state *state);
void hearth_extensions_end(void);

#endif
