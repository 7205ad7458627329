/*
 * What one process has only one of: locale, environment, working directory, umask, and what extensions keep between two
 * calls. With many requests in flight these are shared, and docs say so. One at a time, each request begins with them as
 * boot left them. Signals, limits and the priority are put back in either case.
 */
#include "engine/engine.h"
#include "engine/process_facts.h"

#include <locale.h>
#include <sys/stat.h>
#include <unistd.h>

/* One request at a time: decided once the handler is known. */
static bool alone;

static char *cwd, *locale;
static zend_string *ctype;
static zval environment;
/* How many requests in flight have changed signals, limits or the priority. */
static uint32_t changers;
static bool restoring;

void hearth_process_state_restores(bool one_at_a_time)
{
	alone = one_at_a_time;
}

/* ---- putenv() ---- */

/* `NAME=VALUE` as it is now; `NAME` if it is unset. */
static zend_string *assignment_of(zend_string *name)
{
	const char *value = getenv(ZSTR_VAL(name));

	return value ? zend_strpprintf(0, "%s=%s", ZSTR_VAL(name), value) : zend_string_copy(name);
}

static void seal_environment(void)
{
	zend_string *name;
	zval value;

	array_init(&environment);
	ZEND_HASH_FOREACH_STR_KEY(&BG(putenv_ht), name) {
		if (name) {
			ZVAL_STR(&value, assignment_of(name));
			zend_hash_update(Z_ARRVAL(environment), name, &value);
		}
	} ZEND_HASH_FOREACH_END();
}

static bool is_as_sealed(zend_string *name)
{
	zval *known = zend_hash_find(Z_ARRVAL(environment), name);
	zend_string *now = known ? assignment_of(name) : NULL;
	bool same = known && zend_string_equals(Z_STR_P(known), now);

	if (now) {
		zend_string_release(now);
	}
	return same;
}

/* Deleting an entry puts back what was there before the first putenv() of that name: boot's own is said again then. */
static void restore_environment(void)
{
	zend_string *name;
	zval again, *known, ignored;

	if (EXPECTED(zend_hash_num_elements(&BG(putenv_ht)) == 0)) {
		return;
	}
	array_init(&again);
	ZEND_HASH_FOREACH_STR_KEY(&BG(putenv_ht), name) {
		if (name && !is_as_sealed(name)) {
			add_next_index_str(&again, zend_string_copy(name));
		}
	} ZEND_HASH_FOREACH_END();
	ZEND_HASH_FOREACH_VAL(Z_ARRVAL(again), known) {
		zval *assignment = zend_hash_find(Z_ARRVAL(environment), Z_STR_P(known));

		zend_hash_del(&BG(putenv_ht), Z_STR_P(known));
		if (assignment && hearth_call_function("putenv", assignment, &ignored)) {
			zval_ptr_dtor(&ignored);
		}
	} ZEND_HASH_FOREACH_END();
	zval_ptr_dtor(&again);
}

/* ---- what functions say before they change it ---- */

void hearth_process_state_note(void)
{
	hearth_request_state *state = hearth_current_request();

	if (restoring) {
		return;
	}
	if (state && state->request && !state->changes_process) {
		state->changes_process = true;
		changers++;
	} else if (!alone || !hearth_current) {
		return;
	}
	hearth_process_note();
}

static void restore_signals_and_limits(hearth_request_state *state)
{
	changers -= state->changes_process;
	state->changes_process = false;
	if (!changers) {
		restoring = true;
		hearth_process_restore();
		restoring = false;
	}
}

/* ---- all of it ---- */

/* Boot is over. */
void hearth_process_state_seal(void)
{
	cwd = getcwd(NULL, 0);
	locale = strdup(setlocale(LC_ALL, NULL));
	ctype = BG(ctype_string) ? zend_string_copy(BG(ctype_string)) : NULL;
	BG(umask) = -1;
	seal_environment();
}

static void restore_locale(void)
{
	if (!BG(locale_changed) || strcmp(setlocale(LC_ALL, NULL), locale) == 0) {
		return;
	}
	setlocale(LC_ALL, locale);
	zend_update_current_locale();
	if (BG(ctype_string)) {
		zend_string_release(BG(ctype_string));
	}
	BG(ctype_string) = ctype ? zend_string_copy(ctype) : NULL;
}

static void restore_cwd(void)
{
	char now[MAXPATHLEN];

	if (cwd && (!getcwd(now, sizeof now) || strcmp(now, cwd) != 0) && chdir(cwd) != 0) {
		hearth_log(HEARTH_LOG_WARNING, "the working directory %s cannot be entered again: %s", cwd, strerror(errno));
	}
}

/* A request has ended. */
void hearth_process_state_restore(hearth_request_state *state)
{
	if (UNEXPECTED(state->changes_process) || alone) {
		restore_signals_and_limits(state);
	}
	if (!alone) {
		return;
	}
	restore_locale();
	restore_cwd();
	if (BG(umask) != -1) {
		umask((mode_t) BG(umask));
		BG(umask) = -1;
	}
	restore_environment();
	hearth_connections_end();
	HEARTH_RESEED_RANDOM();
	zend_memory_reset_peak_usage();
}
