/* The app: the entry script and the handler that it returns. */
#include "engine/engine.h"
#include "mode/mode.h"
#include "request/request.h"
#include "task/entry.h"

static zval app_handler;

hearth_outcome hearth_outcome_of_exception(void)
{
	zend_string *text;

	if (!EG(exception)) {
		return HEARTH_OK;
	}
	if (zend_is_unwind_exit(EG(exception))) {
		zend_clear_exception();
		return HEARTH_EXIT;
	}
	{
		zend_object *exception = EG(exception);

		GC_ADDREF(exception);
		zend_clear_exception();
		text = hearth_describe_exception(exception);
		OBJ_RELEASE(exception);
	}
	hearth_boot_failed(ZSTR_VAL(text), ZSTR_LEN(text));
	zend_string_release(text);
	return HEARTH_EXCEPTION;
}

static char handler_kind[16];

hearth_str hearth_handler_kind(void)
{
	return (hearth_str){handler_kind, strlen(handler_kind)};
}

bool hearth_is_framework(void)
{
	return handler_kind[0] != '\0' && strcmp(handler_kind, "callable") != 0;
}

bool hearth_has_extension(hearth_str name)
{
	return zend_hash_str_exists(&module_registry, name.ptr, name.len);
}

bool hearth_has_setting(hearth_str name)
{
	return zend_hash_str_exists(EG(ini_directives), name.ptr, name.len);
}

static void determine_kind(zval *returned)
{
	static zend_function *entry_kind;
	zval kind;

	ZVAL_UNDEF(&kind);
	hearth_prelude_call(&entry_kind, "Hearth\\Internal\\Adapter", "entryKind", 1, returned, &kind);
	if (Z_TYPE(kind) == IS_STRING) {
		slprintf(handler_kind, sizeof handler_kind, "%s", Z_STRVAL(kind));
	}
	zval_ptr_dtor(&kind);
}

static hearth_outcome adapt(zval *returned)
{
	static zend_function *adapt_entry;
	char *error = NULL;

	determine_kind(returned);
	hearth_prelude_call(&adapt_entry, "Hearth\\Internal\\Adapter", "adapt", 1, returned, &app_handler);
	if (EG(exception)) {
		return hearth_outcome_of_exception();
	}
	if (Z_TYPE(app_handler) != IS_OBJECT
			|| zend_fcall_info_init(&app_handler, 0, &hearth_handler, &hearth_handler_cache, NULL, &error) == FAILURE) {
		char *text;
		/* `require` returns 1 for a file without a return statement. */
		bool is_nothing = Z_TYPE_P(returned) == IS_LONG && Z_LVAL_P(returned) == 1;
		size_t length = zend_spprintf(&text, 0, "it returns %s", is_nothing ? "nothing" : zend_zval_type_name(returned));
		hearth_boot_failed(text, length);
		efree(text);
		return HEARTH_REFUSED;
	}
	return HEARTH_OK;
}

static hearth_outcome entry_outcome;

/* The last exception thrown while the app was booted. A handler of the app may show it on a page and exit. */
static char last_thrown[1024];
static void (*others_hook)(zend_object *);

static const char *text_of(zend_object *exception, zend_known_string_id property, zval *space)
{
	zval *value = zend_read_property_ex(zend_get_exception_base(exception), exception, ZSTR_KNOWN(property), true, space);

	return Z_TYPE_P(value) == IS_STRING ? Z_STRVAL_P(value) : "";
}

static void note_thrown(zend_object *exception)
{
	zval message, file, line, *number;

	if (others_hook) {
		others_hook(exception);
	}
	if (!exception || !instanceof_function(exception->ce, zend_ce_throwable)) {
		return;
	}
	number = zend_read_property_ex(zend_get_exception_base(exception), exception, ZSTR_KNOWN(ZEND_STR_LINE), true, &line);
	slprintf(last_thrown, sizeof last_thrown, "%s: %s in %s:" ZEND_LONG_FMT, ZSTR_VAL(exception->ce->name),
			text_of(exception, ZEND_STR_MESSAGE, &message), text_of(exception, ZEND_STR_FILE, &file), zval_get_long(number));
}

hearth_str hearth_last_thrown(void)
{
	return (hearth_str){last_thrown, strlen(last_thrown)};
}

/* Runs on the entry script's own stack and keeps its result; a FrankenPHP loop comes back here when its script ends. */
static void run_entry_script(void)
{
	volatile hearth_outcome outcome = HEARTH_OK;
	zend_file_handle file;
	zval returned;

	ZVAL_UNDEF(&returned);
	zend_try {
		zend_stream_init_filename(&file, hearth_entry_path);
		file.primary_script = true;
		if (zend_execute_scripts(ZEND_REQUIRE, &returned, 1, &file) == FAILURE || EG(exception)) {
			outcome = HEARTH_EXCEPTION;
			/* A syntax error is still pending; any other exception has been reported, and exit() leaves no trace. */
			hearth_outcome_of_exception();
			outcome = hearth_boot_error().len ? HEARTH_EXCEPTION : HEARTH_EXIT;
		}
		zend_destroy_file_handle(&file);
		if (outcome == HEARTH_EXIT) {
			/* Runtimes such as Symfony's end the script with exit(), after they have handed the app over. */
			ZVAL_NULL(&returned);
		}
		if (outcome != HEARTH_EXCEPTION && !hearth_loop) {
			hearth_outcome adapted = adapt(&returned);

			outcome = adapted == HEARTH_REFUSED && outcome == HEARTH_EXIT ? HEARTH_EXIT : adapted;
		}
		zval_ptr_dtor(&returned);
		php_output_end_all();
	} zend_catch {
		outcome = HEARTH_BAILOUT;
	} zend_end_try();
	if (outcome == HEARTH_BAILOUT && hearth_current) {
		/* In a request of a FrankenPHP loop: the loop is broken, and with it this process. */
		zend_bailout();
	}
	entry_outcome = outcome;
}

/* Runs the entry script once, up to its end or to where a FrankenPHP loop asks for a request. */
hearth_outcome hearth_run_entry(const char *path)
{
	CG(skip_shebang) = 1;
	PG(during_request_startup) = 0;
	SG(request_info).path_translated = (char *) path;
	hearth_entry_path = path;
	hearth_entry_server();
	entry_outcome = HEARTH_OK;
	hearth_begin_observers(path);
	others_hook = zend_throw_exception_hook;
	zend_throw_exception_hook = note_thrown;
	hearth_entry_run(run_entry_script);
	zend_throw_exception_hook = others_hook;
	if (hearth_loop) {
		slprintf(handler_kind, sizeof handler_kind, "frankenphp");
	}
	SG(request_info).path_translated = NULL;
	return entry_outcome;
}
