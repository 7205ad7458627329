/*
 * The start of sessions: session.auto_start, and a session whose lock was not obtained. PHP asks for the lock of the
 * session's file and goes on without it if the wait fails: under php-fpm only a signal ends that wait. Here a time limit and
 * a cancellation do, and a request that catches them would write a session that another request has locked.
 */
#include "engine/engine.h"
#include "session/session.h"
#include "state/task_state.h"

extern php_ps_globals ps_globals __attribute__((weak));
extern zend_result php_session_start(void) __attribute__((weak));

bool hearth_session_is_open(void)
{
	return &ps_globals && ps_globals.session_status == php_session_active;
}

/* Empties $_SESSION, which was read without the lock. */
static void empty_variable(void)
{
	zval *variables = &ps_globals.http_session_vars;

	if (Z_ISREF_P(variables) && Z_TYPE_P(Z_REFVAL_P(variables)) == IS_ARRAY) {
		zval_ptr_dtor(Z_REFVAL_P(variables));
		array_init(Z_REFVAL_P(variables));
	}
}

void hearth_session_begun(void)
{
	hearth_session_sid_find();
	if (EXPECTED(!EG(exception)) || !hearth_is_cut_off(EG(exception)) || !hearth_session_is_open()
			|| strcmp(ps_globals.mod->s_name, "files") != 0) {
		return;
	}
	ps_globals.mod->s_close(&ps_globals.mod_data);
	ps_globals.session_status = php_session_none;
	empty_variable();
}

/* The module starts the session at the beginning of a request of the engine, which for a resident app is boot. */
void hearth_session_auto_start(void)
{
	if (EXPECTED(!&ps_globals || !ps_globals.auto_start)) {
		return;
	}
	hearth_superglobals_need(false);
	if (!EG(exception) && hearth_session_enter()) {
		php_session_start();
		hearth_session_leave();
		hearth_session_begun();
	}
}
