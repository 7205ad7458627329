/* The modes other than a resident handler: a classic script, a worker script of FrankenPHP, a command-line script. */
#ifndef HEARTH_MODE_H
#define HEARTH_MODE_H

#include "task/task.h"

extern bool hearth_loop_ended;
/* The runtime that Symfony Runtime starts unless APP_RUNTIME specifies another; in php/src/Symfony/Runtime.php. */
#define HEARTH_SYMFONY_RUNTIME "Hearth\\Symfony\\Runtime"
void hearth_script_run(hearth_task *task);
hearth_task *hearth_loop_request(hearth_request_state *state, void *owner);
void hearth_loop_end_request(hearth_task *task);
void hearth_loop_script_ended(hearth_task *task);
void hearth_register_frankenphp(void);
void hearth_entry_server_variables(zval *server, bool boot);
void hearth_entry_server(void);
void hearth_entry_server_forget(HashTable *server);
size_t hearth_cli_echo(const char *text, size_t length);
int hearth_cli_deactivate(void);
int hearth_cli_header(sapi_header_struct *header, sapi_header_op_enum op, sapi_headers_struct *headers);
/* Whether the body of a classic request could not be read completely. */
extern bool hearth_classic_body_failed;
void hearth_classic_prepare(zend_module_entry *module);
bool hearth_classic_begin(void);
const hearth_script *hearth_classic_script(void);
/* Returns QUERY_STRING: that of the request, or the one that a rule of the site has made. */
hearth_str hearth_query_string(const hearth_request_head *head);
/* Keeps the status line: the engine drops it when it has sent the head, which leaves later here. */
void hearth_classic_keep_status_line(const char *line);

#endif
