/*
 * The state that belongs to one task or one request and not to the worker. The table lists that engine state:
 * state/engine.toml and state/modules.toml, from which build.rs makes state_table.h.
 */
#ifndef HEARTH_TASK_STATE_H
#define HEARTH_TASK_STATE_H

#include "compat.h"
#include "hearth.h"
#include "request/output.h"
#include "state/ranges.h"
#include "state_table.h"

#define HEARTH_DECLARE_FIELD(live, type, field) type field;

typedef struct {
	HEARTH_TASK_FIELDS(HEARTH_DECLARE_FIELD)
	hearth_saved_ranges *ranges;     /* state that few tasks touch; NULL: untouched */
	void *match_data;                /* of preg_replace_callback(), while its callback waits: see state/match_data.c */
	bool fresh;                      /* it has not run: it begins with the state that all have, and the fields are unset */
} hearth_task_state;

/* $_GET $_POST $_COOKIE $_SERVER $_FILES $_REQUEST $_SESSION, in the order of name_list in request/superglobals.c. */
#define HEARTH_SUPERGLOBALS 7

typedef struct { zend_ini_entry *entry; zend_string *value; } hearth_ini_change;

/* Where the end of a request or task is: what runs there must not begin more of it for ever, see request/end_limits.c. */
enum {
	HEARTH_ENDS_OUTPUT = 1,          /* its output buffers end */
	HEARTH_ENDS_SHUTDOWN = 2,        /* its shutdown functions run */
	HEARTH_ENDS_CODE = 4,            /* its code has ended: what is begun now, its end waits for */
};

typedef struct hearth_request_state {
	HEARTH_REQUEST_FIELDS(HEARTH_DECLARE_FIELD)

	bool fresh;                      /* as in hearth_task_state */
	bool released;                   /* it has ended, and the contents of the fields above are freed */
	uint32_t tasks;                  /* number of tasks that share it; freed with the last */
	void *request;                   /* the Rust side's request, or NULL for background work */
	zend_object *request_object;

	bool changes_process;            /* it has changed signals, limits or the priority: see engine/process_state.c */

	/* Superglobals are made at first use (see request/superglobals.c); only then are they exchanged. */
	bool superglobals_live;
	bool body_due;                   /* the content of the body is still to be parsed */
	bool body_broken;                /* no more of the body comes, although it is incomplete */
	unsigned char body_failed;       /* why the parser of an upload ended in the middle; 0: it did not */
	bool records_progress;           /* the progress of the upload is recorded: see request/upload_progress.c */
	struct hearth_task *body_reader; /* the task that reads the body, and the number of tasks that wait for that */
	uint32_t body_waiters;
	zval superglobals[HEARTH_SUPERGLOBALS];
	zval env;                        /* $_ENV, if it is not boot's */
	zval http_globals[NUM_TRACK_VARS];

	/* State that few requests touch; NULL: untouched. */
	hearth_saved_ranges *ranges;

	/* ini_set(): the values to put back when the task runs again. */
	HashTable *modified_ini;
	hearth_ini_change *ini_changes;
	uint32_t ini_change_count;
	char *open_basedir;              /* the engine's resolved form of that setting, or NULL */

	/* set_error_handler(): the engine unsets the handler while it runs, see engine/error_handler.c */
	zval known_error_handler;

	/* The active session, when there is one, and the constant SID; NULL where that is empty. */
	php_ps_globals *session;
	zend_string *sid;
	uint64_t session_call;           /* the task that opens or closes it: see session/calls.c; 0: none does */
	zend_fiber *session_fiber;       /* the Fiber in which it does */
	struct hearth_request_state *session_next; /* the next request whose call is in a Fiber */

	hearth_output output;
	bool responded;                  /* a head was sent */
	bool continues;                  /* a FrankenPHP loop: the script goes on after the response */
	bool ignores_client;             /* ignore_user_abort(), as of the last wait */
	bool unheard;                    /* a wait was ended because its client has left, or the server stops */
	bool failed;                     /* the handler threw: the request's children are cancelled */
	uint8_t ends;                    /* HEARTH_ENDS_*: how far its end is */
	uint8_t refusals;                /* how often a buffer was refused to it */
	bool orphans;                    /* in a process that PHP code forked: it has children, which run in the parent only */
	bool broken;                     /* one of its tasks ended in a fatal error: its memory is not reused */

	HashTable *deferred;
	zval locals;                     /* the WeakMap behind Hearth\Local */
	struct hearth_request_state *next_free;
} hearth_request_state;

/* error_reporting at the end of boot, which each task begins with. */
extern int hearth_error_reporting;

void hearth_state_seal(bool cli);
hearth_request_state *hearth_request_state_new(void *request);
void hearth_request_state_free(hearth_request_state *state);
void hearth_task_state_init(hearth_task_state *state);

/* Exchange: puts the state of the last task away, and makes that of the next one live. A task that has ended is NULL. */
void hearth_state_save(hearth_task_state *task, hearth_request_state *request);
void hearth_state_load(const hearth_task_state *task, hearth_request_state *request);
/* Called instead of saving, when a task, or the only task of a request, ends. */
void hearth_task_state_end(bool broken);
void hearth_state_end(hearth_request_state *request);

void hearth_register_server_variables(zval *server);
void hearth_server_variables_seal(zval *server);
void hearth_request_info_need(void);
void hearth_superglobals_hook(void);
/* request/first_use.c: calls hearth_superglobals_need() where a request uses one. */
void hearth_first_use_hook(void);
void hearth_superglobals_need(bool form);
void hearth_superglobals_save(hearth_request_state *state);
void hearth_superglobals_load(hearth_request_state *state);
void hearth_superglobals_clear(void);
void hearth_superglobals_seal(void);
void hearth_cookies_hook(void);

/* state/session.c */
void hearth_session_seal(bool cli);
/* Called when a session has started. */
void hearth_session_sid_find(void);
void hearth_session_save(hearth_request_state *state);
void hearth_session_load(hearth_request_state *state);
void hearth_session_free(hearth_request_state *state);
void hearth_session_end(void);
/*
 * session/calls.c: called around what opens or closes the session of the running request outside of PHP's functions.
 * False: a task is in a call on the session, which is left alone.
 */
bool hearth_session_enter(void);
void hearth_session_leave(void);
/* Forgets the call that a request was in when it broke; its memory is left alone. */
void hearth_session_calls_free(hearth_request_state *state);
/* Whether the Fiber is in a call on the session of another request. It goes on in that request only. */
bool hearth_session_keeps_fiber(const zend_fiber *fiber);
/* Releases the sessions that the request has open at its very end: see session/locks.c. */
void hearth_session_locks_end(const hearth_request_state *request);
bool hearth_session_in_use(void);
void hearth_upload_progress_hook(void);
void hearth_upload_progress_begin(hearth_request_state *state);

#endif
