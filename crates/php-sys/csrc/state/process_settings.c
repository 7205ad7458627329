/*
 * The working directory, the locale, the umask and the environment: a process has one of each, and each request its own.
 *
 * A request's values are kept beside the process, in ranges of state/engine.toml. When the ranges are exchanged, the process
 * follows (`apply`), so that the request's code, C libraries and child processes see only its values.
 */
#include "engine/engine.h"
#include "engine/internal_call.h"
#include "engine/replace.h"
#include "hearth.h"
#include "state/local_symbols.h"
#include "state/process_settings.h"
#include "state/ranges.h"

#include <dlfcn.h>
#include <locale.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

/* Keeps `now`, memory of malloc(), as the request's value if it differs from boot's. */
static void keep(char **own, const char *boot, char *now)
{
	free(*own);
	*own = now;
	if (now && boot && strcmp(now, boot) == 0) {
		free(now);
		*own = NULL;
	}
}

static void drop(char **own)
{
	free(*own);
	*own = NULL;
}

/* ---- the working directory ---- */

char *hearth_own_directory;
static char *boot_directory;
static zif_handler chdir_function;

/*
 * Calls PHP's chdir(), or that of opcache, which notes the directory for the keys of relative paths. The caller has changed it already, so
 * no warning is raised. The names of the cache of stat() are live and kept elsewhere while tasks are exchanged: chdir() would free one.
 */
static void note_directory(const char *directory)
{
	const zend_function *known = zend_hash_str_find_ptr(CG(function_table), ZEND_STRL("chdir"));
	zend_internal_function function = known->internal_function;
	zend_string *status = BG(CurrentStatFile), *link_status = BG(CurrentLStatFile);
	char *open_basedir = PG(open_basedir);
	zval path, done;

	BG(CurrentStatFile) = BG(CurrentLStatFile) = NULL;
	PG(open_basedir) = NULL;
	function.handler = chdir_function;
	ZVAL_STRING(&path, directory);
	hearth_call_internal((zend_function *) &function, 1, &path, &done);
	zval_ptr_dtor(&path);
	PG(open_basedir) = open_basedir;
	BG(CurrentStatFile) = status;
	BG(CurrentLStatFile) = link_status;
}

void hearth_apply_directory(void)
{
	const char *wanted = hearth_own_directory ? hearth_own_directory : boot_directory;

	if (!wanted) {
		return;
	}
	if (chdir(wanted) != 0) {
		hearth_log(HEARTH_LOG_WARNING, "the working directory %s cannot be entered again: %s", wanted, strerror(errno));
	} else {
		note_directory(wanted);
	}
}

void hearth_release_directory(void)
{
	drop(&hearth_own_directory);
}

static void on_chdir(INTERNAL_FUNCTION_PARAMETERS)
{
	chdir_function(INTERNAL_FUNCTION_PARAM_PASSTHRU);
	keep(&hearth_own_directory, boot_directory, getcwd(NULL, 0));
}

/* ---- the locale ---- */

char *hearth_own_locale;
static char *boot_locale;
static zend_string *boot_ctype;
static zif_handler setlocale_function;

static bool is_in_libphp(const void *address)
{
	Dl_info php, other;

	return dladdr((void *) zend_update_current_locale, &php) && dladdr(address, &other) && php.dli_fbase == other.dli_fbase;
}

/*
 * Replaces libc's. Libraries take the locale of the environment, which is "", when they begin: libvirt once, libtidy of Debian 12 with
 * each document, also in its output handler. All requests of the process would have it. Only the engine and PHP code take it.
 */
char *setlocale(int category, const char *locale)
{
	static char *(*libc_setlocale)(int, const char *);

	if (!libc_setlocale) {
		libc_setlocale = (char *(*)(int, const char *)) dlsym(RTLD_NEXT, "setlocale");
	}
	if (locale && !*locale && !is_in_libphp(__builtin_return_address(0))) {
		locale = NULL;
	}
	return libc_setlocale(category, locale);
}

void hearth_apply_locale(void)
{
	const char *wanted = hearth_own_locale ? hearth_own_locale : boot_locale;

	/* Under `hearth run` a script has the process to itself, and nothing was sealed. */
	if (wanted && strcmp(setlocale(LC_ALL, NULL), wanted) != 0) {
		setlocale(LC_ALL, wanted);
		zend_update_current_locale();
	}
}

void hearth_release_locale(void)
{
	drop(&hearth_own_locale);
	if (BG(ctype_string) && BG(ctype_string) != boot_ctype) {
		zend_string_release(BG(ctype_string));
	}
	BG(ctype_string) = boot_ctype;
}

static void on_setlocale(INTERNAL_FUNCTION_PARAMETERS)
{
	setlocale_function(INTERNAL_FUNCTION_PARAM_PASSTHRU);
	keep(&hearth_own_locale, boot_locale, strdup(setlocale(LC_ALL, NULL)));
}

/* ---- the umask ---- */

int64_t hearth_own_umask = -1;
static mode_t boot_umask;
static zif_handler umask_function;

static mode_t umask_now(void)
{
	mode_t now = umask(077);

	umask(now);
	return now;
}

void hearth_apply_umask(void)
{
	umask(hearth_own_umask == -1 ? boot_umask : (mode_t) hearth_own_umask);
}

static void on_umask(INTERNAL_FUNCTION_PARAMETERS)
{
	mode_t now;

	umask_function(INTERNAL_FUNCTION_PARAM_PASSTHRU);
	now = umask_now();
	hearth_own_umask = now == boot_umask ? -1 : (int64_t) now;
}

/* ---- the environment ---- */

/* By name: a string, or null for a variable that the request has removed. */
HashTable *hearth_own_environment;
/* Boot's environment, as strings of malloc(), and the names of variables in which the process differs from it now. */
static HashTable boot_environment, changed;
/* The entries of the environment that were set here, and those before them, which a thread may still read. By name. */
typedef struct { char *now, *before; } entries;
static HashTable set_here;
static zif_handler putenv_function;

static void free_text(zval *text)
{
	free(Z_PTR_P(text));
}

static void take_environment(void)
{
	zend_hash_init(&boot_environment, 64, NULL, free_text, 1);
	zend_hash_init(&changed, 8, NULL, NULL, 1);
	zend_hash_init(&set_here, 8, NULL, NULL, 1);
	for (char **entry = environ; entry && *entry; entry++) {
		const char *equals = strchr(*entry, '=');

		if (equals) {
			zend_hash_str_update_ptr(&boot_environment, *entry, (size_t) (equals - *entry), strdup(equals + 1));
		}
	}
}

/* Sets a variable; NULL removes it. setenv() would keep each text that a variable ever had. */
static void set_variable(zend_string *name, const char *text)
{
	entries *entry = zend_hash_find_ptr(&set_here, name);

	if (!entry) {
		entry = zend_hash_str_add_mem(&set_here, ZSTR_VAL(name), ZSTR_LEN(name), &(entries){0}, sizeof *entry);
	}
	free(entry->before);
	entry->before = entry->now;
	entry->now = NULL;
	if (text) {
		size_t size = ZSTR_LEN(name) + strlen(text) + 2;

		entry->now = pemalloc(size, 1);
		snprintf(entry->now, size, "%s=%s", ZSTR_VAL(name), text);
		putenv(entry->now);
	} else {
		unsetenv(ZSTR_VAL(name));
	}
	if (zend_string_equals_literal(name, "TZ")) {
		tzset();
	}
}

static void note_change(zend_string *name)
{
	zval yes;

	ZVAL_TRUE(&yes);
	zend_hash_str_update(&changed, ZSTR_VAL(name), ZSTR_LEN(name), &yes);
}

void hearth_apply_environment(void)
{
	zend_string *name;
	zval *text;

	ZEND_HASH_FOREACH_STR_KEY(&changed, name) {
		set_variable(name, zend_hash_find_ptr(&boot_environment, name));
	} ZEND_HASH_FOREACH_END();
	zend_hash_clean(&changed);
	if (!hearth_own_environment) {
		return;
	}
	ZEND_HASH_FOREACH_STR_KEY_VAL(hearth_own_environment, name, text) {
		note_change(name);
		set_variable(name, Z_TYPE_P(text) == IS_STRING ? Z_STRVAL_P(text) : NULL);
	} ZEND_HASH_FOREACH_END();
}

void hearth_release_environment(void)
{
	if (hearth_own_environment) {
		zend_array_destroy(hearth_own_environment);
		hearth_own_environment = NULL;
	}
}

static void keep_variable(const char *setting)
{
	size_t length = strcspn(setting, "=");
	zend_string *name = zend_string_init(setting, length, false);
	const char *now = getenv(ZSTR_VAL(name));
	zval text;

	if (!hearth_own_environment) {
		hearth_own_environment = zend_new_array(8);
	}
	if (now) {
		ZVAL_STRING(&text, now);
	} else {
		ZVAL_NULL(&text);
	}
	zend_hash_update(hearth_own_environment, name, &text);
	note_change(name);
	/* The engine's own entry would later put back the text from before it, which is freed by then. */
	zend_hash_del(&BG(putenv_ht), name);
	set_variable(name, Z_TYPE(text) == IS_STRING ? Z_STRVAL(text) : NULL);
	zend_string_release(name);
}

static void on_putenv(INTERNAL_FUNCTION_PARAMETERS)
{
	putenv_function(INTERNAL_FUNCTION_PARAM_PASSTHRU);
	/* putenv() has converted its argument to a string. */
	if (Z_TYPE_P(return_value) == IS_TRUE) {
		keep_variable(Z_STRVAL_P(ZEND_CALL_ARG(execute_data, 1)));
	}
}

/* ---- all of them ---- */

void hearth_process_settings_seal(void)
{
	boot_directory = getcwd(NULL, 0);
	boot_locale = strdup(setlocale(LC_ALL, NULL));
	boot_umask = umask_now();
	if (BG(ctype_string)) {
		/* The engine frees the string that a request replaces. */
		BG(ctype_string) = boot_ctype = hearth_permanent_string(BG(ctype_string));
	}
	take_environment();
	hearth_replace_function("chdir", &chdir_function, on_chdir);
	hearth_replace_function("setlocale", &setlocale_function, on_setlocale);
	hearth_replace_function("umask", &umask_function, on_umask);
	hearth_replace_function("putenv", &putenv_function, on_putenv);
}
