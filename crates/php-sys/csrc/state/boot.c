/*
 * Settings of the entry script that every request begins with, where the engine keeps them in memory that ends with a
 * request: taken away at the seal, and copied for each request. An app that sets none of them pays for none of it.
 */
#include "engine/internal_call.h"
#include "hearth.h"
#include "state/local_symbols.h"
#include "state/ranges.h"
#include "task/task.h"

#include <ext/standard/file.h>

/* Whether any of them is set. */
static bool any;

static void call_and_forget(const char *name, zval *argument)
{
	zval result;

	if (hearth_call_function(name, argument ? 1 : 0, argument, &result)) {
		zval_ptr_dtor(&result);
	}
}

/* ---- the default stream context ---- */

static php_stream_context *context;

static void seal_context(void)
{
	if (FG(default_context) && Z_TYPE(FG(default_context)->options) == IS_ARRAY
			&& zend_hash_num_elements(Z_ARRVAL(FG(default_context)->options))) {
		context = FG(default_context);
		any = true;
	}
	FG(default_context) = NULL;
}

static void apply_context(void)
{
	if (context && !FG(default_context)) {
		FG(default_context) = php_stream_context_alloc();
		zval_ptr_dtor(&FG(default_context)->options);
		ZVAL_ARR(&FG(default_context)->options, zend_array_dup(Z_ARRVAL(context->options)));
	}
}

/* ---- stream wrappers and filters ---- */

static HashTable *wrappers, *filters, *filter_classes;

static void seal_streams(void)
{
	wrappers = FG(stream_wrappers);
	filters = FG(stream_filters);
	filter_classes = BG(user_filter_map);
	FG(stream_wrappers) = FG(stream_filters) = BG(user_filter_map) = NULL;
	any |= wrappers || filters || filter_classes;
}

/* Copies without a destructor: the entries are boot's. */
static HashTable *copy_of(HashTable *table)
{
	HashTable *copy = NULL;

	if (table) {
		ALLOC_HASHTABLE(copy);
		zend_hash_init(copy, zend_hash_num_elements(table), NULL, NULL, 0);
		zend_hash_copy(copy, table, NULL);
	}
	return copy;
}

/* From main/streams/userspace.c; its `abstract` points to itself. */
typedef struct { php_stream_wrapper wrapper; char *protocol; zend_class_entry *ce; zend_resource *resource; } user_wrapper;

/* Returns the resource that holds a wrapper of PHP code; NULL for the engine's own wrappers. */
zend_resource *hearth_wrapper_resource(php_stream_wrapper *wrapper)
{
	user_wrapper *user = wrapper->abstract;

	return (void *) user == (void *) wrapper && strcmp(wrapper->wops->label, "user-space") == 0 ? user->resource : NULL;
}

static void hold_wrappers(HashTable *table)
{
	php_stream_wrapper *wrapper;

	ZEND_HASH_FOREACH_PTR(table, wrapper) {
		zend_resource *resource = hearth_wrapper_resource(wrapper);

		if (resource) {
			GC_ADDREF(resource);
		}
	} ZEND_HASH_FOREACH_END();
}

static void apply_streams(void)
{
	if (!FG(stream_wrappers) && !FG(stream_filters) && !BG(user_filter_map)) {
		FG(stream_wrappers) = copy_of(wrappers);
		if (wrappers) {
			hold_wrappers(wrappers);
		}
		FG(stream_filters) = copy_of(filters);
		BG(user_filter_map) = copy_of(filter_classes);
		if (filter_classes) {
			BG(user_filter_map)->pDestructor = filter_classes->pDestructor;
		}
	}
}

/* Takes boot's own entries out of a request's copy, before the copy is destroyed with its entries. */
void hearth_boot_spare_filters(HashTable *copy)
{
	dtor_func_t destroy = copy->pDestructor;
	zend_string *name;

	if (filter_classes) {
		copy->pDestructor = NULL;
		ZEND_HASH_FOREACH_STR_KEY(filter_classes, name) {
			zend_hash_del(copy, name);
		} ZEND_HASH_FOREACH_END();
		copy->pDestructor = destroy;
	}
}

/* ---- libxml ---- */

static bool libxml_errors;
static zval libxml_loader;

static void seal_libxml(void)
{
	zval result;

	ZVAL_UNDEF(&libxml_loader);
	if (hearth_call_function("libxml_use_internal_errors", 0, NULL, &result)) {
		libxml_errors = Z_TYPE(result) == IS_TRUE;
		zval_ptr_dtor(&result);
	}
	if (hearth_call_function("libxml_get_external_entity_loader", 0, NULL, &result)) {
		ZVAL_COPY_VALUE(&libxml_loader, &result);
	}
	any |= libxml_errors || Z_TYPE(libxml_loader) > IS_NULL;
	if (libxml_errors) {
		ZVAL_FALSE(&result);
		call_and_forget("libxml_use_internal_errors", &result);
	}
}

static void apply_libxml(void)
{
	zval on;

	if (libxml_errors) {
		ZVAL_TRUE(&on);
		call_and_forget("libxml_use_internal_errors", &on);
	}
	if (Z_TYPE(libxml_loader) > IS_NULL) {
		call_and_forget("libxml_set_external_entity_loader", &libxml_loader);
	}
}

/* ---- mbstring ---- */

static const char *const mb_names[] = {
	"mb_internal_encoding", "mb_language", "mb_http_output", "mb_substitute_character", "mb_detect_order", "mb_regex_encoding",
};
#define MB_SETTINGS (sizeof mb_names / sizeof *mb_names)
static zval mb_values[MB_SETTINGS];

/* Ends and begins the extension's request: its settings are those of php.ini again. */
static void restart(const char *name)
{
	zend_module_entry *module = zend_hash_str_find_ptr(&module_registry, name, strlen(name));

	if (module && module->request_shutdown_func) {
		module->request_shutdown_func(module->type, module->module_number);
	}
	if (module && module->request_startup_func) {
		module->request_startup_func(module->type, module->module_number);
	}
}

static void seal_mbstring(void)
{
	zval fresh;

	for (size_t i = 0; i < MB_SETTINGS; i++) {
		ZVAL_UNDEF(&mb_values[i]);
		hearth_call_function(mb_names[i], 0, NULL, &mb_values[i]);
	}
	restart("mbstring");
	for (size_t i = 0; i < MB_SETTINGS; i++) {
		ZVAL_UNDEF(&fresh);
		if (Z_TYPE(mb_values[i]) != IS_UNDEF && hearth_call_function(mb_names[i], 0, NULL, &fresh) && zend_is_identical(&fresh, &mb_values[i])) {
			zval_ptr_dtor(&mb_values[i]);
			ZVAL_UNDEF(&mb_values[i]);
		}
		zval_ptr_dtor(&fresh);
		any |= Z_TYPE(mb_values[i]) != IS_UNDEF;
	}
}

static void apply_mbstring(void)
{
	for (size_t i = 0; i < MB_SETTINGS; i++) {
		if (Z_TYPE(mb_values[i]) != IS_UNDEF) {
			call_and_forget(mb_names[i], &mb_values[i]);
		}
	}
}

/* ---- assert ---- */

static zval assert_callback;

static void seal_assert(void)
{
	zval *callback = hearth_assert_callback();

	ZVAL_UNDEF(&assert_callback);
	if (callback && Z_TYPE_P(callback) != IS_UNDEF) {
		ZVAL_COPY_VALUE(&assert_callback, callback);
		ZVAL_UNDEF(callback);
		any = true;
	}
}

static void apply_assert(void)
{
	zval *callback = hearth_assert_callback();

	if (Z_TYPE(assert_callback) != IS_UNDEF && Z_TYPE_P(callback) == IS_UNDEF) {
		ZVAL_COPY(callback, &assert_callback);
	}
}

/* ---- all of it ---- */

void hearth_boot_settings_seal(void)
{
	seal_context();
	seal_streams();
	seal_libxml();
	seal_mbstring();
	seal_assert();
	hearth_text_domain_seal();
	hearth_assert_callback_seal();
}

/* Called in a task, before the first code of a request runs. */
void hearth_boot_settings_apply(void)
{
	if (EXPECTED(!any)) {
		return;
	}
	apply_context();
	apply_streams();
	apply_libxml();
	apply_mbstring();
	apply_assert();
}
