/*
 * The session of a request, which is exchanged with its request: the globals of PHP's module, and the constant SID, which has
 * the session's id in it.
 */
#include "engine/engine.h"

/* Debian's libphp contains the session extension; in a build without it this symbol is null. */
extern php_ps_globals ps_globals __attribute__((weak));
extern zend_result php_session_destroy(void) __attribute__((weak));
extern zend_result php_session_flush(int write) __attribute__((weak));

/* The module's state while no session is open. */
static php_ps_globals idle_session;
/* The value of SID, a constant that the module makes at the first session and changes at each later one; NULL before. */
static zval *sid;

void hearth_session_sid_find(void)
{
	if (UNEXPECTED(!sid)) {
		sid = zend_get_constant_str(ZEND_STRL("SID"));
	}
}

/* NULL where SID has no id in it. */
static zend_string *take_sid(void)
{
	zend_string *text;

	if (!sid || Z_STRLEN_P(sid) == 0) {
		return NULL;
	}
	text = Z_STR_P(sid);
	ZVAL_EMPTY_STRING(sid);
	return text;
}

static void empty_sid(void)
{
	zend_string *text = take_sid();

	if (UNEXPECTED(text)) {
		zend_string_release(text);
	}
}

static void drop(zend_string **text)
{
	if (*text) {
		zend_string_release(*text);
		*text = NULL;
	}
}

/* Ends a session that boot has begun: no visitor has it. */
static void end_boot_session(void)
{
	if (ps_globals.session_status == php_session_active) {
		/* Nothing but session.auto_start wanted that one. */
		ps_globals.auto_start ? php_session_destroy() : php_session_flush(1);
	}
	drop(&ps_globals.id);
	drop(&ps_globals.session_vars);
	HEARTH_SINCE_8_4(drop(&ps_globals.session_started_filename);)
	zval_ptr_dtor(&ps_globals.http_session_vars);
	ZVAL_UNDEF(&ps_globals.http_session_vars);
	hearth_session_sid_find();
	empty_sid();
}

void hearth_session_seal(bool cli)
{
	if (!&ps_globals) {
		return;
	}
	if (!cli) {
		end_boot_session();
	}
	/* A script of `hearth run` goes on with a session that session.auto_start has begun. */
	idle_session = ps_globals;
	idle_session.session_status = php_session_none;
	idle_session.id = idle_session.session_vars = NULL;
	HEARTH_SINCE_8_4(idle_session.session_started_filename = NULL;)
	idle_session.mod_data = NULL;
	ZVAL_UNDEF(&idle_session.http_session_vars);
}

bool hearth_session_in_use(void)
{
	return &ps_globals && (ps_globals.session_status != php_session_none || ps_globals.id || ps_globals.rfc1867_progress
		|| ps_globals.mod_data || ps_globals.mod_user_implemented
		|| !Z_ISUNDEF(ps_globals.http_session_vars) || Z_TYPE(HEARTH_SAVE_HANDLERS(ps_globals)[0]) != IS_UNDEF);
}

void hearth_session_save(hearth_request_state *state)
{
	if (hearth_session_in_use()) {
		state->session = pemalloc(sizeof *state->session, 1);
		*state->session = ps_globals;
		ps_globals = idle_session;
	}
	state->sid = take_sid();
}

void hearth_session_load(hearth_request_state *state)
{
	if (state->session) {
		ps_globals = *state->session;
		pefree(state->session, 1);
		state->session = NULL;
	}
	if (UNEXPECTED(state->sid)) {
		ZVAL_STR(sid, state->sid);
		state->sid = NULL;
	}
}

/* The request has broken if SID is still here: its memory is not released. */
void hearth_session_free(hearth_request_state *state)
{
	if (state->session) { pefree(state->session, 1); }
	state->session = NULL;
	state->sid = NULL;
	hearth_session_calls_free(state);
}

static void end_module(void)
{
	zend_module_entry *module = zend_hash_str_find_ptr(&module_registry, ZEND_STRL("session"));

	for (size_t i = 0; i < HEARTH_SAVE_HANDLER_COUNT; i++) {
		/* A save handler set at boot outlives the request: the module is about to drop one reference. */
		if (memcmp(&HEARTH_SAVE_HANDLERS(ps_globals)[i], &HEARTH_SAVE_HANDLERS(idle_session)[i], sizeof(zval)) == 0) {
			Z_TRY_ADDREF(HEARTH_SAVE_HANDLERS(ps_globals)[i]);
		}
	}
	module->request_shutdown_func(module->type, module->module_number);
	ps_globals = idle_session;
}

/* Writes and closes a session that the request left open, as the module does at the end of a request. */
void hearth_session_end(void)
{
	if (hearth_session_in_use()) {
		if (UNEXPECTED(!hearth_session_enter())) {
			return;
		}
		end_module();
		hearth_session_leave();
	}
	empty_sid();
}
