/* The server API that PHP sees: boot of the engine, its callbacks, its time limit. */
#include "cache/cache.h"
#include "engine/engine.h"
#include "engine/programs.h"
#include "engine/random.h"
#include "mode/mode.h"
#include "pool/pool.h"
#include "preload/preload.h"
#include "request/headers.h"
#include "request/request.h"
#include "session/session.h"
#include "state/check.h"
#include "state/process_settings.h"
#include "task/context.h"
#include "task/no_suspend.h"
#include "task/task_object.h"
#include "task/interrupted.h"
#include "engine/functions_arginfo.h"

#include <signal.h>

/* opcache shares its memory only under a server name that it knows; see PHP_MINIT_FUNCTION(hearth). */
#define HEARTH_NAME_FOR_OPCACHE "cli-server"

static const hearth_boot_args *boot_args;
bool hearth_booting;

bool hearth_is_classic(void)
{
	return boot_args->mode == HEARTH_CLASSIC;
}

bool hearth_is_cli(void)
{
	return boot_args->mode == HEARTH_CLI;
}

/* ---- time limit ---- */

/*
 * PHP's own timer counts the CPU time of the whole process and would end whichever task runs when it fires; and it costs
 * three system calls a request. In a server set_time_limit() limits the time that this request computes, which the process's
 * watchdog enforces, and extends the request's time limit by the clock by as much.
 */
zend_long hearth_time_limit;

static ZEND_INI_MH(on_time_limit)
{
	zend_long seconds = ZEND_STRTOL(ZSTR_VAL(new_value), NULL, 10);

	(void) entry; (void) mh_arg1; (void) mh_arg2; (void) mh_arg3;
	hearth_time_limit = seconds;
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
	hearth_time_limit = INI_INT("max_execution_time");
	EG(timeout_seconds) = 0;
}

/* Called at an interrupt when the script has used up its CPU time. The engine reports it at the next interrupt. */
void hearth_time_out(int64_t limit)
{
	EG(timeout_seconds) = limit;
	PG(connection_status) |= PHP_CONNECTION_TIMEOUT;
	zend_atomic_bool_store_ex(&EG(timed_out), true);
	hearth_interrupt();
}

/* ---- the server API ---- */

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
	ini_default(configuration, "display_errors", hearth_is_cli() ? "1" : "0");
}

static int on_startup(sapi_module_struct *module)
{
	extern zend_module_entry hearth_module;

	return php_module_startup(module, &hearth_module);
}

/* Nothing to do per request: the working directory and the umask of a server are the administrator's. */
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
	.log_message = hearth_log_message,
	.ini_defaults = ini_defaults,
};

/*
 * Modules start before zend extensions: from here until the engine is up, the server has a name that opcache accepts.
 * PHP_SAPI was registered before, with Hearth's own name.
 */
static PHP_MINIT_FUNCTION(hearth)
{
	(void) type;
	hearth_stack_startup();
	hearth_contexts_startup();
	hearth_prelude_prepare();
	if (!hearth_is_cli()) {
		hearth_server_environment_keep();
		sapi_module.name = HEARTH_NAME_FOR_OPCACHE;
	}
	if (boot_args->mode != HEARTH_CLASSIC) {
		hearth_register_errors();
		hearth_register_request();
		hearth_register_task();
		hearth_register_wait_queue();
		hearth_register_histogram();
		hearth_register_lease_table();
		hearth_register_frankenphp();
		hearth_register_state_check();
		hearth_register_preload_facts();
	} else {
		hearth_register_preload_used();
	}
	hearth_register_cache();
	hearth_register_apcu(module_number);
	hearth_register_session_handler();
	hearth_register_session_class();
	return SUCCESS;
}

zend_module_entry hearth_module = {
	STANDARD_MODULE_HEADER, "hearth", ext_functions, PHP_MINIT(hearth), NULL, NULL, NULL, NULL, "0.1.0",
	STANDARD_MODULE_PROPERTIES
};

hearth_str hearth_php_version(void)
{
	return (hearth_str){ZEND_STRL(PHP_VERSION)};
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
	sapi_module.name = hearth_sapi.name = hearth_is_cli() ? "cli" : "hearth";
	hearth_interrupts_hook();
	hearth_no_suspend_in_sqlite();
	hearth_stack_hook();
	return true;
}

/* Begins the long request in which the app lives. */
static bool begin_residence(void)
{
	hearth_no_suspend_in_engine();
	hearth_errors_hook();
	hearth_error_handler_hook();
	hearth_read_directory_hook();
	hearth_descriptor_sets_hook();
	own_time_limit();
	hearth_intercept_install();
	hearth_superglobals_hook();
	if (!hearth_is_cli()) {
		hearth_input_hook();
	}
	SG(options) |= SAPI_OPTION_NO_CHDIR;
	SG(request_info).no_headers = true;
	hearth_booting = true;
	if (php_request_startup() == FAILURE) {
		return false;
	}
	hearth_prelude_begin();
	hearth_kept_begin();
	hearth_statements_hook();
	hearth_properties_hook();
	hearth_fibers_name_bottom();
	hearth_modules_before_boot();
	return true;
}

/* Starts the engine, for the life of the process. */
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
	hearth_no_suspend_in_fibers();
	hearth_no_suspend_in_generators();
	hearth_ticks_hook();
	hearth_header_callback_hook();
	switch (args->mode) {
		case HEARTH_CLI:
			hearth_no_suspend_in_engine();
			hearth_error_handler_hook();
			hearth_read_directory_hook();
			hearth_descriptor_sets_hook();
			hearth_intercept_install();
			return true;
		case HEARTH_CLASSIC:
			own_time_limit();
			return hearth_classic_begin();
		default:
			return begin_residence();
	}
}

/* Ends boot: the current state is what every request begins with. */
void hearth_seal(void)
{
	zend_try {
		gc_collect_cycles();
		if (!hearth_is_cli()) {
			hearth_process_settings_seal();
			hearth_programs_seal();
		}
		hearth_state_seal(hearth_is_cli());
	} zend_end_try();
	hearth_booting = false;
}

static volatile pid_t signals_of;

/* A child process, forked for a program or by pcntl_fork(), ends by the signal. */
static void pass_over(int number)
{
	if (getpid() != signals_of) {
		signal(number, SIG_DFL);
		raise(number);
	}
}

/*
 * Ignores signals that reach every process of a group or a unit. By a handler, because programs that PHP starts would
 * inherit an ignored signal. Handlers that the app has set stay.
 */
void hearth_pass_over_signals(void)
{
	static const int numbers[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1};
	struct sigaction action = {.sa_handler = pass_over, .sa_flags = SA_RESTART};

	signals_of = getpid();
	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		if (SIGG(handlers)[numbers[i] - 1].handler == (void *) SIG_DFL) {
			sigaction(numbers[i], &action, NULL);
		}
	}
}

void hearth_after_fork(void)
{
	signals_of = getpid();
	hearth_random_reseed();
}

uint64_t hearth_post_max_size(void)
{
	return SG(post_max_size) > 0 ? (uint64_t) SG(post_max_size) : 0;
}

bool hearth_validates_timestamps(void)
{
	zend_ini_entry *entry = zend_hash_str_find_ptr(EG(ini_directives), ZEND_STRL("opcache.validate_timestamps"));
	return entry && entry->value && zend_ini_parse_bool(entry->value);
}
