/* ini_set() of a request: its values are put back when the request is left, and set again when it goes on. */
#include "state/local_symbols.h"
#include "state/ini_settings.h"
#include "state/ranges.h"

extern php_ps_globals ps_globals __attribute__((weak));

/* Makes the resolved open_basedir of boot permanent: it holds for every request, and no request frees it. */
static void seal_open_basedir(void)
{
	char *resolved = HEARTH_TAKE_OPEN_BASEDIR();
	zend_ini_entry *entry = resolved ? zend_hash_str_find_ptr(EG(ini_directives), ZEND_STRL("open_basedir")) : NULL;
	zend_string *value;

	if (entry) {
		value = zend_string_init(resolved, strlen(resolved), false);
		efree(resolved);
		zend_string_release(entry->value);
		entry->value = hearth_permanent_string(value);
		zend_string_release(value);
		PG(open_basedir) = ZSTR_VAL(entry->value);
	}
}

void hearth_ini_seal(void)
{
	zend_ini_entry *entry;

	seal_open_basedir();
	if (!EG(modified_ini_directives)) {
		return;
	}
	ZEND_HASH_FOREACH_PTR(EG(modified_ini_directives), entry) {
		if (entry->orig_value && entry->orig_value != entry->value) {
			zend_string_release(entry->orig_value);
		}
		entry->modified = 0;
		entry->orig_value = NULL;
	} ZEND_HASH_FOREACH_END();
	zend_hash_destroy(EG(modified_ini_directives));
	FREE_HASHTABLE(EG(modified_ini_directives));
	EG(modified_ini_directives) = NULL;
}

void hearth_ini_free(hearth_request_state *state)
{
	if (state->modified_ini) {
		zend_hash_destroy(state->modified_ini);
		FREE_HASHTABLE(state->modified_ini);
		state->modified_ini = NULL;
	}
	for (uint32_t i = 0; i < state->ini_change_count; i++) {
		if (state->ini_changes[i].value) {
			zend_string_release(state->ini_changes[i].value);
		}
	}
	if (state->ini_changes) {
		pefree(state->ini_changes, 1);
	}
	state->ini_changes = NULL;
	state->ini_change_count = 0;
	if (state->open_basedir) {
		efree(state->open_basedir);
		state->open_basedir = NULL;
	}
}

static void ignore_error(int type, zend_string *file, const uint32_t line, zend_string *message)
{
	(void) type; (void) file; (void) line; (void) message;
}

/*
 * Sets the value, in both directions, at the stage at which no extension objects: the value was accepted before. Warnings
 * about it, such as that the setting is deprecated, were raised then.
 */
static void set_ini_value(zend_ini_entry *entry, zend_string *value)
{
	void (*report)(int, zend_string *, const uint32_t, zend_string *) = zend_error_cb;
	int handled = EG(user_error_handler_error_reporting);
	bool may_set_handler = false;

	zend_error_cb = ignore_error;
	EG(user_error_handler_error_reporting) = 0;
	if (&ps_globals) {
		/* Only session_set_save_handler() may choose the handler "user", and it has done so. */
		may_set_handler = ps_globals.set_handler;
		ps_globals.set_handler = 1;
	}
	if (entry->on_modify) {
		entry->on_modify(entry, value, entry->mh_arg1, entry->mh_arg2, entry->mh_arg3, ZEND_INI_STAGE_DEACTIVATE);
	}
	if (&ps_globals) {
		ps_globals.set_handler = may_set_handler;
	}
	EG(user_error_handler_error_reporting) = handled;
	zend_error_cb = report;
	entry->value = value;
}

void hearth_ini_save(hearth_request_state *state)
{
	zend_ini_entry *entry;
	uint32_t i = 0;

	state->open_basedir = HEARTH_TAKE_OPEN_BASEDIR();
	state->modified_ini = EG(modified_ini_directives);
	EG(modified_ini_directives) = NULL;
	state->ini_change_count = zend_hash_num_elements(state->modified_ini);
	state->ini_changes = safe_pemalloc(state->ini_change_count, sizeof(hearth_ini_change), 0, 1);
	ZEND_HASH_FOREACH_PTR(state->modified_ini, entry) {
		state->ini_changes[i].entry = entry;
		/* ini_restore(), and a refused value, leave the entry in the table with its old value, which may be NULL. */
		state->ini_changes[i++].value = entry->value ? zend_string_copy(entry->value) : NULL;
		if (entry->modified && entry->value != entry->orig_value) {
			zend_string *changed = entry->value;
			set_ini_value(entry, entry->orig_value);
			zend_string_release(changed);
		}
		entry->modified = 0;
		entry->orig_value = NULL;
	} ZEND_HASH_FOREACH_END();
}

void hearth_ini_load(hearth_request_state *state)
{
	EG(modified_ini_directives) = state->modified_ini;
	state->modified_ini = NULL;
	for (uint32_t i = 0; i < state->ini_change_count; i++) {
		zend_ini_entry *entry = state->ini_changes[i].entry;

		entry->orig_value = entry->value;
		entry->orig_modifiable = entry->modifiable;
		entry->modified = 1;
		if (state->ini_changes[i].value != entry->value) {
			set_ini_value(entry, state->ini_changes[i].value);
		} else if (entry->value) {
			zend_string_release(entry->value);
		}
	}
	if (state->open_basedir) {
		HEARTH_PUT_OPEN_BASEDIR(state->open_basedir);
		state->open_basedir = NULL;
	}
	if (state->ini_changes) {
		pefree(state->ini_changes, 1);
	}
	state->ini_changes = NULL;
	state->ini_change_count = 0;
}

void hearth_ini_undo_in_ranges(void)
{
	if (hearth_ranges_changed(HEARTH_SCOPE_REQUEST)) {
		hearth_ranges_forget(HEARTH_SCOPE_REQUEST);
	}
}
