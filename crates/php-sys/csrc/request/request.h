/* One request: its superglobals and body, its response, its end. */
#ifndef HEARTH_REQUEST_H
#define HEARTH_REQUEST_H

#include "task/task.h"

/* The PHP object Hearth\Request. */
typedef struct {
	void *request;
	zval query, cookies, attributes;
	zend_object std;
} hearth_request_object;

extern zend_class_entry *hearth_request_ce, *hearth_response_ce;

extern zend_fcall_info hearth_handler;
extern zend_fcall_info_cache hearth_handler_cache;
void hearth_request_run(hearth_task *task);
void hearth_request_answer(hearth_request_state *state);
/* The same after a fatal error. */
void hearth_request_answer_broken(hearth_request_state *state);
/* request/error_page.c: for a developer. The second returns NULL where errors are not shown, or the app has its own page. */
zend_string *hearth_exception_page(hearth_request_state *state, zend_object *exception);
zend_string *hearth_fatal_page(hearth_request_state *state);
bool hearth_request_finish(hearth_request_state *state);
void hearth_server_environment_keep(void);
bool hearth_server_is_environment(const char *name, size_t length, zval *value);
void hearth_set_server_variable(zval *server, const char *name, const char *value);
void hearth_request_end(hearth_task *task);
void hearth_run_shutdown_functions(void);
void hearth_shutdown_functions_ready(void);
/* Runs the functions that defer() was given. */
void hearth_run_deferred(hearth_request_state *state);
/* request/end_limits.c: throws, and returns true, if the running task or its request was told that its time is over, and is at such an end. */
bool hearth_refuse_more(uint8_t ends);
/* request/response.c: responds for the way the handler ended. `value`: what it returned; null stands for what it echoed. */
void hearth_respond_value(hearth_request_state *state, zval *value);
void hearth_respond_echoed(hearth_request_state *state);
void hearth_respond_exception(hearth_request_state *state);
/* Whether the handler's result is sent in pieces. */
bool hearth_response_is_stream(const zval *result);
/* request/header_callback.c */
void hearth_run_header_callback(void);
void hearth_header_callback_hook(void);
/* request/echo.c */
void hearth_send_head(hearth_request_state *state, hearth_response *response, zend_array *own);
/* How many of a text's `length` bytes the log shows: the text need not end with a NUL. */
#define HEARTH_SHOWN(length) ((int) MIN(length, 80))
size_t hearth_echo(const char *text, size_t length);
/* Drops the kept output, as the engine drops its own buffers when memory is exhausted. */
void hearth_discard_echoed(void);
void hearth_flush(void *context);
void hearth_let_send(void);
zend_object *hearth_request_object_new(void *request);
void hearth_request_object_end(zend_object *object);
/* Throws unless the request is the running task's: only then its body can be read. */
bool hearth_request_is_running(void *request);
void hearth_parse_input(int kind, char *text, zval *into);
void hearth_parse_cookies(hearth_str line, zval *result);
void hearth_register_request(void);
/* request/form.c: one task of a request reads its body at a time. */
bool hearth_body_lock(hearth_request_state *state);
void hearth_body_unlock(hearth_request_state *state);
void hearth_body_mend(void);
/* Takes the last result of hearth_on_body_read(), which is not above 0: throws unless it is the end of the body. */
void hearth_body_read_ended(void *request, ptrdiff_t n);
/* Throws if only a part of the body could be read, and no more will come. */
bool hearth_body_is_broken(hearth_request_state *state);
/* request/input_stream.c: php://input. The second ends the body of the running request, and every stream that reads it. */
void hearth_input_hook(void);
void hearth_input_end(void);
/* request/env.c */
void hearth_env_seal(void);
void hearth_env_clear(void);
void hearth_env_save(hearth_request_state *state);
void hearth_env_load(const hearth_request_state *state);
size_t hearth_read_post(char *buffer, size_t length);
bool hearth_form_is_due(void);
bool hearth_form_is_readable(hearth_request_state *state, bool needed);
bool hearth_form_prepare(hearth_request_state *state);
void hearth_form_parsed(hearth_request_state *state);
int hearth_user_ini_activate(void);
/* Wakes the tasks that wait until another task has read the body of this request. */
void hearth_task_unpark_readers(const hearth_request_state *request);

#endif
