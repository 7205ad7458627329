/* The ranges of the engine and of the extension "standard", and code that frees them: the rows of state/engine.toml. */
#include "engine/internal_call.h"
#include "hearth.h"
#include "state/local_symbols.h"
#include "state/process_settings.h"
#include "state/ranges.h"
#include "state_table.h"
#include "task/task.h"

#include <ext/standard/file.h>

typedef struct {
	const char *name;
	hearth_scope scope;
	hearth_treatment treatment;
	void (*release)(void);
	void (*apply)(void);
	bool dropped;
} hearth_state_row;

static const hearth_state_row rows[] = {HEARTH_STATE_ROWS};

/* ---- tick functions ---- */

/* Used for an app whose entry script has registered tick functions: that list stays the worker's. */
static zend_llist no_ticks;
static zend_llist *ticks;

/*
 * Returns the list of PHP code's tick functions. With the first of them the engine adds a function of its own to
 * those of extensions, which relies on the list. A tick function may begin background work, another request, while
 * the engine is in the middle of both lists, so the outer list must not change: it exists from the seal on, empty,
 * and its contents are exchanged.
 */
static zend_llist *tick_functions(void)
{
	zval name, result;

	if (!BG(user_tick_functions)) {
		ZVAL_STRING(&name, "time");
		hearth_call_function("register_tick_function", 1, &name, &result);
		hearth_call_function("unregister_tick_function", 1, &name, &result);
		zval_ptr_dtor(&name);
	}
	return BG(user_tick_functions) && !BG(user_tick_functions)->count ? BG(user_tick_functions) : &no_ticks;
}

void hearth_release_tick_functions(void)
{
	zend_llist_clean(ticks);
}

/* ---- other state to free ---- */

static void free_rewriter(url_adapt_state_ex_t *state)
{
	smart_str_free(&state->tag);
	smart_str_free(&state->arg);
	smart_str_free(&state->val);
	smart_str_free(&state->buf);
	smart_str_free(&state->result);
	smart_str_free(&state->form_app);
	smart_str_free(&state->url_app);
	smart_str_free(&state->attr_val);
}

void hearth_release_url_rewriter(void)
{
	free_rewriter(&BG(url_adapt_session_ex));
	free_rewriter(&BG(url_adapt_output_ex));
}

void hearth_release_default_context(void)
{
	php_stream_context *context = FG(default_context);

	FG(default_context) = NULL;
	if (context) {
		zend_list_delete(context->res);
	}
}

void hearth_release_stat_cache(void)
{
	php_clear_stat_cache(0, NULL, 0);
}

void hearth_release_stream_opening(void)
{
	if (FG(wrapper_errors)) {
		zend_hash_destroy(FG(wrapper_errors));
		efree(FG(wrapper_errors));
	}
}

void hearth_release_host_buffer(void)
{
	if (FG(tmp_host_buf)) {
		free(FG(tmp_host_buf));
	}
}

void hearth_release_http_headers(void)
{
	zval *headers = HEARTH_LAST_HTTP_HEADERS();

	if (headers) {
		zval_ptr_dtor(headers);
		ZVAL_UNDEF(headers);
	}
}

/* ---- stream wrappers and filters ---- */

/* Each entry of PHP code holds its wrapper, as do open streams, for example in a static. */
void hearth_release_stream_wrappers(void)
{
	HashTable *wrappers = FG(stream_wrappers);
	php_stream_wrapper *wrapper;

	FG(stream_wrappers) = NULL;
	if (!wrappers) {
		return;
	}
	ZEND_HASH_FOREACH_PTR(wrappers, wrapper) {
		zend_resource *resource = hearth_wrapper_resource(wrapper);

		if (resource) {
			zend_list_delete(resource);
		}
	} ZEND_HASH_FOREACH_END();
	zend_hash_destroy(wrappers);
	efree(wrappers);
}

void hearth_release_stream_filters(void)
{
	HashTable *filters = FG(stream_filters), *map = BG(user_filter_map);

	FG(stream_filters) = NULL;
	BG(user_filter_map) = NULL;
	if (filters) {
		zend_hash_destroy(filters);
		efree(filters);
	}
	if (map) {
		hearth_boot_spare_filters(map);
		zend_hash_destroy(map);
		efree(map);
	}
}

/* ---- the ranges ---- */

static uint32_t owner_of(uint32_t row)
{
	static uint32_t last_row = UINT32_MAX, last_owner;

	if (row != last_row) {
		hearth_state_owner owner = {rows[row].name, rows[row].release, rows[row].apply, NULL, rows[row].dropped, false};

		last_row = row;
		last_owner = hearth_ranges_owner(&owner);
	}
	return last_owner;
}

#define HEARTH_ADD_RANGE(row, live, size) hearth_ranges_add(rows[row].scope, owner_of(row), &(live), size);
#define HEARTH_ADD_SENTINEL(row, live) hearth_ranges_sentinel(rows[row].scope, &(live), sizeof(live));

void hearth_engine_ranges_add(void)
{
	ticks = tick_functions();
	HEARTH_STATE_RANGES(HEARTH_ADD_RANGE, HEARTH_ADD_SENTINEL)
}
