/* The server API that PHP sees: start of the engine, its callbacks, its errors, and the entry script. */
#include "headers.h"
#include "task.h"

#include <signal.h>

/* opcache shares its memory only under a server name that it knows; see on_module_startup. */
#define HEARTH_NAME_FOR_OPCACHE "cli-server"

static const hearth_boot_args *boot_args;
static bool booting;
static smart_str boot_error;
static zval app_handler;

static bool is_cli(void)
{
	return boot_args->mode == HEARTH_CLI;
}

/* ---- log ---- */

void hearth_log(hearth_log_level level, const char *format, ...)
{
	va_list args;
	char *text;
	size_t length;

	va_start(args, format);
	length = zend_vspprintf(&text, 0, format, args);
	va_end(args);
	hearth_on_log(level, (hearth_str){text, length});
	efree(text);
}

static void remember_boot_error(const char *text, size_t length)
{
	if (boot_error.s) {
		smart_str_appendc(&boot_error, '\n');
	}
	smart_str_appendl(&boot_error, text, length);
}

static zend_string *describe_exception(zend_object *exception)
{
	zval text;
	zend_string *described;

	ZVAL_UNDEF(&text);
	zend_call_known_instance_method_with_0_params(exception->ce->__tostring, exception, &text);
	if (EG(exception)) {
		zend_clear_exception();
	}
	described = zend_strpprintf(0, "Uncaught %s", Z_TYPE(text) == IS_STRING ? Z_STRVAL(text) : ZSTR_VAL(exception->ce->name));
	zval_ptr_dtor(&text);
	return described;
}

/* A client that hung up, or a child that was not wanted any more: nobody's mistake. */
static bool is_cancellation(zend_object *exception)
{
	return zend_string_equals_literal(exception->ce->name, "Hearth\\CancelledError");
}

/* Take the exception that is under way, log it, and go on without it. */
void hearth_report_exception(void)
{
	zend_object *exception = EG(exception);
	zend_string *text;

	if (!exception) {
		return;
	}
	GC_ADDREF(exception);
	zend_clear_exception();
	if (!zend_is_unwind_exit(exception) && !zend_is_graceful_exit(exception) && !is_cancellation(exception)) {
		text = describe_exception(exception);
		hearth_on_log(HEARTH_LOG_ERROR, (hearth_str){ZSTR_VAL(text), ZSTR_LEN(text)});
		zend_string_release(text);
	}
	OBJ_RELEASE(exception);
}

static void log_message(const char *message, int syslog_type)
{
	if (is_cli()) {
		fprintf(stderr, "%s\n", message);
		return;
	}
	if (booting) {
		return;
	}
	hearth_on_log(syslog_type <= 3 ? HEARTH_LOG_ERROR : syslog_type == 4 ? HEARTH_LOG_WARNING : HEARTH_LOG_NOTICE,
		(hearth_str){message, strlen(message)});
}

/* ---- errors ---- */

static void (*report_error)(int, zend_string *, const uint32_t, zend_string *);

#define HEARTH_FATAL (E_ERROR | E_CORE_ERROR | E_COMPILE_ERROR | E_USER_ERROR | E_PARSE | E_RECOVERABLE_ERROR)

/*
 * A fatal error ends one task, not the worker's others. PHP's own handler marks every object of the process as
 * destroyed before it bails out; so let it only report, and bail out here.
 */
static void on_error(int type, zend_string *file, const uint32_t line, zend_string *message)
{
	if (booting && (type & HEARTH_FATAL)) {
		char *text;
		size_t length = zend_spprintf(&text, 0, "%s in %s:%u", ZSTR_VAL(message), file ? ZSTR_VAL(file) : "?", line);

		remember_boot_error(text, length);
		efree(text);
	}
	if (!(type & HEARTH_FATAL) || (type & E_DONT_BAIL)) {
		report_error(type, file, line, message);
		return;
	}
	report_error(type | E_DONT_BAIL, file, line, message);
	EG(exit_status) = 255;
	zend_set_memory_limit(PG(memory_limit));
	zend_bailout();
}

/* ---- where a task must not be left ---- */

static zend_op_array *(*engine_compile_file)(zend_file_handle *, int);
static zend_op_array *(*engine_compile_string)(HEARTH_COMPILE_STRING_ARGS);
static zend_class_entry *(*autoload)(zend_string *, zend_string *);
static int (*collect_cycles)(void);
static void (*interrupt)(zend_execute_data *);

static zend_op_array *on_compile_file(zend_file_handle *handle, int type)
{
	zend_op_array *ops;

	hearth_no_switch++;
	ops = engine_compile_file(handle, type);
	hearth_no_switch--;
	return ops;
}

static zend_op_array *on_compile_string(HEARTH_COMPILE_STRING_ARGS)
{
	zend_op_array *ops;

	hearth_no_switch++;
	ops = engine_compile_string(source, filename, position);
	hearth_no_switch--;
	return ops;
}

/* A second task that needs the class while it is half linked, or being loaded, would not find it. */
static zend_class_entry *on_autoload(zend_string *name, zend_string *lower)
{
	zend_class_entry *ce;

	hearth_no_switch++;
	ce = autoload(name, lower);
	hearth_no_switch--;
	return ce;
}

static int on_collect_cycles(void)
{
	int count;

	hearth_no_switch++;
	count = collect_cycles();
	hearth_no_switch--;
	return count;
}

static void on_interrupt(zend_execute_data *frame)
{
	if (interrupt) {
		interrupt(frame);
	}
	if (hearth_current && !hearth_current->busy) {
		hearth_on_interrupt();
	}
}

static void watch_interrupts(void)
{
	interrupt = zend_interrupt_function;
	zend_interrupt_function = on_interrupt;
}

static void guard_engine(void)
{
	engine_compile_file = zend_compile_file;
	zend_compile_file = on_compile_file;
	engine_compile_string = zend_compile_string;
	zend_compile_string = on_compile_string;
	autoload = zend_autoload;
	zend_autoload = on_autoload;
	collect_cycles = gc_collect_cycles;
	gc_collect_cycles = on_collect_cycles;
}

/* ---- time limit ---- */

/*
 * PHP's own timer counts the CPU time of the whole process and would end whichever task runs when it fires; and it costs
 * three system calls a request. In a server set_time_limit() moves the limits of this request instead, which the
 * process's watchdog looks after: that of the clock, and in classic mode, where there is one request, that of CPU time.
 */
static ZEND_INI_MH(on_time_limit)
{
	zend_long seconds = ZEND_STRTOL(ZSTR_VAL(new_value), NULL, 10);

	(void) entry; (void) mh_arg1; (void) mh_arg2; (void) mh_arg3;
	if (stage == ZEND_INI_STAGE_RUNTIME && hearth_current) {
		hearth_on_time_limit(hearth_current->owner, (double) seconds);
		if (boot_args->mode == HEARTH_CLASSIC) {
			hearth_on_cpu_limit(seconds);
		}
	}
	return SUCCESS;
}

static void own_time_limit(void)
{
	zend_ini_entry *entry = zend_hash_str_find_ptr(EG(ini_directives), ZEND_STRL("max_execution_time"));

	if (entry) {
		entry->on_modify = on_time_limit;
	}
	EG(timeout_seconds) = 0;
}

/* From any thread: the script has used up its CPU time. The engine reports it as it always does. */
void hearth_time_out(int64_t limit)
{
	EG(timeout_seconds) = limit;
	zend_atomic_bool_store_ex(&EG(timed_out), true);
	hearth_interrupt();
}

/* ---- the server API ---- */

size_t hearth_read_post(char *buffer, size_t length)
{
	void *request = SG(server_context);
	size_t done = 0;

	/* The engine takes a short count for the end, so fill the buffer. */
	while (request && done < length) {
		ptrdiff_t n = hearth_on_body_read(request, buffer + done, length - done);
		if (n <= 0) {
			break;
		}
		done += (size_t) n;
	}
	return done;
}

static char *read_cookies(void)
{
	return SG(request_info).cookie_data;
}

static int send_headers(sapi_headers_struct *headers)
{
	if (headers->http_status_line && hearth_classic_script()) {
		hearth_classic_keep_status_line(headers->http_status_line);
	}
	return SAPI_HEADER_SENT_SUCCESSFULLY;
}

static void ini_default(HashTable *configuration, const char *name, const char *value)
{
	zval entry;

	ZVAL_NEW_STR(&entry, zend_string_init(value, strlen(value), 1));
	zend_hash_str_update(configuration, name, strlen(name), &entry);
}

static void ini_defaults(HashTable *configuration)
{
	ini_default(configuration, "display_errors", is_cli() ? "1" : "0");
}

static int on_startup(sapi_module_struct *module)
{
	extern zend_module_entry hearth_module;

	return php_module_startup(module, &hearth_module);
}

/* The working directory and the umask of a server are the administrator's business. */
static int no_op(void)
{
	return SUCCESS;
}

void hearth_cli_register_variables(zval *variables);

sapi_module_struct hearth_sapi = {
	.name = "hearth",
	.pretty_name = "Hearth application server",
	.startup = on_startup,
	.shutdown = php_module_shutdown_wrapper,
	.activate = no_op,
	.deactivate = no_op,
	.ub_write = hearth_echo,
	.flush = hearth_flush,
	.send_headers = send_headers,
	.read_post = hearth_read_post,
	.read_cookies = read_cookies,
	.register_server_variables = hearth_register_server_variables,
	.log_message = log_message,
	.ini_defaults = ini_defaults,
};

/*
 * Modules start before zend extensions: from here until the engine is up, go by a name that opcache accepts. PHP_SAPI
 * was registered before, with our own.
 */
static PHP_MINIT_FUNCTION(hearth)
{
	(void) type; (void) module_number;
	if (!is_cli()) {
		sapi_module.name = HEARTH_NAME_FOR_OPCACHE;
	}
	if (boot_args->mode != HEARTH_CLASSIC) {
		hearth_register_classes();
		hearth_register_frankenphp();
	}
	return SUCCESS;
}

zend_module_entry hearth_module = {
	STANDARD_MODULE_HEADER, "hearth", hearth_functions, PHP_MINIT(hearth), NULL, NULL, NULL, NULL, "0.1.0",
	STANDARD_MODULE_PROPERTIES
};

hearth_abi_info hearth_abi(void)
{
	return (hearth_abi_info){HEARTH_ABI, PHP_VERSION_ID, {ZEND_STRL(PHP_VERSION)}};
}

static void be_the_php_command(void)
{
	hearth_sapi.name = "cli";
	hearth_sapi.pretty_name = "Command Line Interface";
	hearth_sapi.phpinfo_as_text = true;
	hearth_sapi.register_server_variables = hearth_cli_register_variables;
	hearth_sapi.deactivate = hearth_cli_deactivate;
	hearth_sapi.header_handler = hearth_cli_header;
	hearth_sapi.additional_functions = hearth_cli_functions;
}

static bool start_engine(const hearth_boot_args *args)
{
	hearth_sapi.sapi_error = zend_error;
	hearth_sapi.php_ini_ignore = args->no_ini;
	hearth_sapi.php_ini_path_override = (char *) args->ini_path;
	hearth_sapi.php_ini_ignore_cwd = true;
	hearth_sapi.executable_location = args->argc > 0 ? args->argv[0] : NULL;
	sapi_startup(&hearth_sapi);
	/* Only now: sapi_startup clears them. */
	sapi_module.ini_entries = hearth_sapi.ini_entries = (char *) args->ini_entries;
	if (hearth_sapi.startup(&hearth_sapi) == FAILURE) {
		return false;
	}
	sapi_module.name = hearth_sapi.name = is_cli() ? "cli" : "hearth";
	watch_interrupts();
	return true;
}

/* The long request in which the app lives. */
static bool begin_residence(void)
{
	guard_engine();
	report_error = zend_error_cb;
	zend_error_cb = on_error;
	own_time_limit();
	hearth_watch_persistent();
	hearth_superglobals_hook();
	SG(options) |= SAPI_OPTION_NO_CHDIR;
	SG(request_info).no_headers = true;
	booting = true;
	return php_request_startup() == SUCCESS;
}

/* Start the engine, for the life of the process. */
bool hearth_boot(const hearth_boot_args *args)
{
	boot_args = args;
	signal(SIGPIPE, SIG_IGN);
	zend_signal_startup();
	switch (args->mode) {
		case HEARTH_CLI:
			be_the_php_command();
			break;
		case HEARTH_CLASSIC:
			hearth_sapi.additional_functions = hearth_header_functions;
			hearth_classic_prepare(&hearth_module);
			break;
		case HEARTH_RESIDENT:
			hearth_sapi.additional_functions = hearth_header_functions;
	}
	if (!start_engine(args)) {
		return false;
	}
	switch (args->mode) {
		case HEARTH_CLI:
			guard_engine();
			return true;
		case HEARTH_CLASSIC:
			own_time_limit();
			return hearth_classic_begin();
		default:
			return begin_residence();
	}
}

static hearth_outcome outcome_of_exception(void)
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
		text = describe_exception(exception);
		OBJ_RELEASE(exception);
	}
	remember_boot_error(ZSTR_VAL(text), ZSTR_LEN(text));
	zend_string_release(text);
	return HEARTH_EXCEPTION;
}

/* Compile and run the PHP part of our own library, file by file. */
hearth_outcome hearth_load_library(const hearth_source *files, size_t count)
{
	volatile hearth_outcome outcome = HEARTH_OK;

	zend_try {
		for (size_t i = 0; i < count && outcome == HEARTH_OK; i++) {
			/* eval starts behind the opening tag. */
			const char *code = files[i].source.ptr + 5;
			char name[256];

			slprintf(name, sizeof name, "hearth:%.*s", (int) files[i].name.len, files[i].name.ptr);
			zend_eval_stringl(code, files[i].source.len - 5, NULL, name);
			outcome = outcome_of_exception();
		}
	} zend_catch {
		outcome = HEARTH_BAILOUT;
	} zend_end_try();
	hearth_response_ce = zend_hash_str_find_ptr(CG(class_table), ZEND_STRL("hearth\\response"));
	return outcome;
}

static char handler_kind[16];

hearth_str hearth_handler_kind(void)
{
	return (hearth_str){handler_kind, strlen(handler_kind)};
}

static void ask_for_kind(zval *returned)
{
	zval kind;

	ZVAL_UNDEF(&kind);
	zend_call_method_with_1_params(NULL, NULL, NULL, "hearth\\internal\\entrykind", &kind, returned);
	if (Z_TYPE(kind) == IS_STRING) {
		slprintf(handler_kind, sizeof handler_kind, "%s", Z_STRVAL(kind));
	}
	zval_ptr_dtor(&kind);
}

static hearth_outcome adapt(zval *returned)
{
	char *error = NULL;

	ask_for_kind(returned);
	zend_call_method_with_1_params(NULL, NULL, NULL, "hearth\\internal\\adapt", &app_handler, returned);
	if (EG(exception)) {
		return outcome_of_exception();
	}
	if (Z_TYPE(app_handler) != IS_OBJECT
			|| zend_fcall_info_init(&app_handler, 0, &hearth_handler, &hearth_handler_cache, NULL, &error) == FAILURE) {
		char *text;
		size_t length = zend_spprintf(&text, 0, "it returned %s", zend_zval_type_name(returned));
		remember_boot_error(text, length);
		efree(text);
		return HEARTH_REFUSED;
	}
	return HEARTH_OK;
}

static hearth_outcome entry_outcome;

/* On the entry script's own stack. What it returned is kept; a loop comes back here when its script ends. */
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
			/* A syntax error is still under way; any other exception has been reported, and exit() leaves no trace. */
			outcome_of_exception();
			outcome = boot_error.s ? HEARTH_EXCEPTION : HEARTH_EXIT;
		}
		zend_destroy_file_handle(&file);
		if (outcome == HEARTH_EXIT) {
			/* Runtimes end the script that way, after they have handed the app over. */
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
		/* In a request of a loop: that is broken, and with it this process. */
		zend_bailout();
	}
	entry_outcome = outcome;
}

/* Run the entry script, once, up to its end or to where it asks for a request. */
hearth_outcome hearth_run_entry(const char *path)
{
	CG(skip_shebang) = 1;
	PG(during_request_startup) = 0;
	SG(request_info).path_translated = (char *) path;
	hearth_entry_path = path;
	hearth_entry_server();
	entry_outcome = HEARTH_OK;
	hearth_entry_run(run_entry_script);
	if (hearth_loop) {
		slprintf(handler_kind, sizeof handler_kind, "frankenphp");
	}
	SG(request_info).path_translated = NULL;
	return entry_outcome;
}

hearth_str hearth_boot_error(void)
{
	smart_str_0(&boot_error);
	return boot_error.s ? (hearth_str){ZSTR_VAL(boot_error.s), ZSTR_LEN(boot_error.s)} : (hearth_str){"", 0};
}

/* Boot is over: what is set up now is what every request starts with. */
void hearth_seal(void)
{
	zend_try {
		gc_collect_cycles();
		if (!is_cli()) {
			hearth_ground_seal();
		}
		hearth_state_seal(is_cli());
	} zend_end_try();
	booting = false;
}

void hearth_after_fork(void)
{
	HEARTH_RESEED_RANDOM();
}

uint64_t hearth_post_max_size(void)
{
	return SG(post_max_size) > 0 ? (uint64_t) SG(post_max_size) : 0;
}

static const char *throwable_name(hearth_throwable kind)
{
	return kind == HEARTH_THROW_TIMEOUT ? "hearth\\timeouterror" : "hearth\\cancellederror";
}

void hearth_throw(hearth_throwable kind, hearth_str message)
{
	zend_class_entry *ce = NULL;

	if (!EG(current_execute_data)) {
		/* No PHP code runs that could catch it: whoever waits is told by the return value. */
		return;
	}
	if (kind != HEARTH_THROW_ERROR) {
		const char *name = throwable_name(kind);
		ce = zend_hash_str_find_ptr(CG(class_table), name, strlen(name));
	}
	zend_throw_error(ce, "%.*s", (int) message.len, message.ptr);
}
