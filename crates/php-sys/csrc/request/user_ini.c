/*
 * Settings per directory and per host, as under php-fpm: .user.ini in the script's directory and those above it up to
 * the document root, and the sections [PATH=…] and [HOST=…] of php.ini. They apply to one request.
 *
 * The files are read again after user_ini.cache_ttl seconds; until then each worker keeps their settings. The engine refuses
 * settings there that may only be set for the whole server (disable_functions, opcache.…); a warning reports that.
 */
#include "engine/engine.h"
#include "mode/mode.h"
#include "request/request.h"

/* The settings of one directory. */
typedef struct {
	time_t read_at;
	HashTable settings;      /* name => value; sections and lists are arrays, and ignored */
} hearth_directory;

/* Path of a directory, with its slash => hearth_directory. One for each directory with scripts. */
static HashTable directories;
static bool initialised;

static void free_directory(zval *value)
{
	hearth_directory *directory = Z_PTR_P(value);

	zend_hash_destroy(&directory->settings);
	pefree(directory, 1);
}

static hearth_directory *directory_of(const char *path, size_t length)
{
	hearth_directory *directory;

	if (!initialised) {
		zend_hash_init(&directories, 8, NULL, free_directory, 1);
		initialised = true;
	}
	directory = zend_hash_str_find_ptr(&directories, path, length);
	if (!directory) {
		directory = pemalloc(sizeof *directory, 1);
		directory->read_at = 0;
		zend_hash_init(&directory->settings, 8, NULL, config_zval_dtor, 1);
		zend_hash_str_update_ptr(&directories, path, length, directory);
	}
	return directory;
}

static bool is_fresh(const hearth_directory *directory, time_t now)
{
	return directory->read_at != 0 && PG(user_ini_cache_ttl) > 0 && now - directory->read_at <= PG(user_ini_cache_ttl);
}

static void warn_of_refused(const char *path, HashTable *settings)
{
	zend_string *name;
	zval *value;

	ZEND_HASH_FOREACH_STR_KEY_VAL(settings, name, value) {
		zend_ini_entry *entry = name ? zend_hash_find_ptr(EG(ini_directives), name) : NULL;

		if (entry && Z_TYPE_P(value) == IS_STRING && !(entry->modifiable & PHP_INI_PERDIR)) {
			hearth_log(HEARTH_LOG_WARNING, "%s for %s sets %s, which only the server's own settings can (--ini, php.ini)",
				PG(user_ini_filename), path, ZSTR_VAL(name));
		}
	} ZEND_HASH_FOREACH_END();
}

/* Reads from the document root down, so that the file nearest to the script wins. `path` ends with a slash. */
static void read_files(hearth_directory *directory, char *path, size_t root)
{
	char *slash = path + root;

	zend_hash_clean(&directory->settings);
	while ((slash = strchr(slash, '/')) != NULL) {
		*slash = '\0';
		php_parse_user_ini_file(path, PG(user_ini_filename), &directory->settings);
		*slash++ = '/';
	}
	warn_of_refused(path, &directory->settings);
}

static void apply(HashTable *settings)
{
	zend_string *name, *copy;
	zval *value;

	ZEND_HASH_FOREACH_STR_KEY_VAL(settings, name, value) {
		if (name && Z_TYPE_P(value) == IS_STRING) {
			copy = zend_string_dup(Z_STR_P(value), 0);
			zend_alter_ini_entry_ex(name, copy, PHP_INI_PERDIR, PHP_INI_STAGE_HTACCESS, 0);
			zend_string_release(copy);
		}
	} ZEND_HASH_FOREACH_END();
}

static void apply_host_section(void)
{
	hearth_str host;
	char *name;

	if (php_ini_has_per_host_config() && hearth_on_header(SG(server_context), (hearth_str){"host", 4}, &host)) {
		size_t length = host.len;
		const char *colon = memrchr(host.ptr, ':', length);

		/* The colons of an IPv6 address are inside its brackets. */
		if (colon && !memchr(colon, ']', host.ptr + length - colon)) {
			length = colon - host.ptr;
		}
		name = estrndup(host.ptr, length);
		zend_str_tolower(name, length);
		php_ini_activate_per_host_config(name, length);
		efree(name);
	}
}

/* Called by the engine when a request starts, before it is parsed. */
int hearth_user_ini_activate(void)
{
	const hearth_script *script = hearth_classic_script();
	const char *slash = script ? strrchr(script->filename, '/') : NULL;
	size_t length = slash ? slash + 1 - script->filename : 0, root;
	hearth_directory *directory;
	char path[MAXPATHLEN];
	time_t now;

	if (!length || length >= sizeof path) {
		return SUCCESS;
	}
	memcpy(path, script->filename, length);
	path[length] = '\0';
	apply_host_section();
	php_ini_activate_per_dir_config(path, length);
	if (!PG(user_ini_filename) || !*PG(user_ini_filename)) {
		return SUCCESS;
	}
	root = script->document_root.len;
	root -= root && script->document_root.ptr[root - 1] == '/';
	if (root >= length || memcmp(path, script->document_root.ptr, root) != 0 || path[root] != '/') {
		/* Outside of the document root: its own directory only. */
		root = length - 1;
	}
	directory = directory_of(path, length);
	now = (time_t) sapi_get_request_time();
	if (!is_fresh(directory, now)) {
		read_files(directory, path, root);
		directory->read_at = now;
	}
	apply(&directory->settings);
	return SUCCESS;
}
