/*
 * Extensions of which only some fields belong to a request, with headers that declare those fields; and the code that frees
 * the state of a request where the extension's own RSHUTDOWN does more than that.
 */
#include "hearth.h"
#include "state/extensions.h"
#include "state/ranges.h"
#include "task/task.h"

#include <dlfcn.h>

uint32_t hearth_extension_owner(const char *name, void (*release)(void))
{
	hearth_state_owner owner = { .name = name, .release = release };

	return hearth_ranges_owner(&owner);
}

/* ---- date ---- */

static zend_date_globals *date;

static void free_messages(timelib_error_message *messages, int count)
{
	for (int i = 0; i < count; i++) {
		efree(messages[i].message);
	}
	if (messages) {
		efree(messages);
	}
}

/* The time zones that the extension has read stay, because objects point to them. */
static void release_date(void)
{
	if (date->timezone) {
		efree(date->timezone);
	}
	if (date->last_errors) {
		free_messages(date->last_errors->warning_messages, date->last_errors->warning_count);
		free_messages(date->last_errors->error_messages, date->last_errors->error_count);
		efree(date->last_errors);
	}
	date->timezone = NULL;
	date->last_errors = NULL;
}

static void add_date(void *globals)
{
	uint32_t owner = hearth_extension_owner("date", release_date);

	date = globals;
	release_date();
	HEARTH_ADD(HEARTH_SCOPE_REQUEST, owner, date->timezone);
	HEARTH_ADD(HEARTH_SCOPE_REQUEST, owner, date->last_errors);
}

/* ---- pcre ---- */

static void add_pcre(void *globals)
{
	zend_pcre_globals *pcre = globals;

	HEARTH_ADD(HEARTH_SCOPE_TASK, hearth_extension_owner("pcre", NULL), pcre->error_code);
}

/* ---- mysqli ---- */

static zend_mysqli_globals *mysqli;

static void release_mysqli(void)
{
	if (mysqli->error_msg) {
		efree(mysqli->error_msg);
		mysqli->error_msg = NULL;
	}
}

static void add_mysqli(void *globals)
{
	uint32_t owner = hearth_extension_owner("mysqli", release_mysqli);

	mysqli = globals;
	release_mysqli();
	HEARTH_ADD(HEARTH_SCOPE_REQUEST, owner, mysqli->error_no);
	HEARTH_ADD(HEARTH_SCOPE_REQUEST, owner, mysqli->error_msg);
	HEARTH_ADD(HEARTH_SCOPE_REQUEST, owner, mysqli->report_mode);
}

/* ---- openssl ---- */

static void **openssl_errors;

/* openssl_error_string(): lists of codes, in memory of the process, made at the first error. 8.4 has two. */
static void release_openssl(void)
{
	for (size_t i = 0; i < HEARTH_BY_VERSION(1, 2); i++) {
		free(openssl_errors[i]);
		openssl_errors[i] = NULL;
	}
}

static void add_openssl(void *globals)
{
	openssl_errors = globals;
	release_openssl();
	hearth_ranges_add(HEARTH_SCOPE_REQUEST, hearth_extension_owner("openssl", release_openssl), globals, HEARTH_BY_VERSION(1, 2) * sizeof(void *));
}

/* ---- filter ---- */

static zend_module_entry *filter;

static void release_filter(void)
{
	filter->request_shutdown_func(filter->type, filter->module_number);
}

/* The module entry has no globals: the entry of one of the settings points to them. Five arrays come first. */
static void add_filter(void *globals)
{
	const zend_ini_entry *entry = zend_hash_str_find_ptr(EG(ini_directives), ZEND_STRL("filter.default"));

	filter = zend_hash_str_find_ptr(&module_registry, ZEND_STRL("filter"));
	if (entry && entry->mh_arg2 && (size_t) entry->mh_arg1 == 5 * sizeof(zval)) {
		release_filter();
		hearth_ranges_add(HEARTH_SCOPE_REQUEST, hearth_extension_owner("filter", release_filter), entry->mh_arg2, 5 * sizeof(zval));
	}
}

/* ---- intl ---- */

typedef struct { void *collator; char *locale; void *compare; void *iterator; struct { int code, owned; char *message; } error; } intl_globals;
static intl_globals *intl;

/* The message of the last error is allocated, or a constant. */
static void release_intl(void)
{
	if (intl->error.message && is_zend_ptr(intl->error.message)) {
		efree(intl->error.message);
	}
}

static void add_intl(void *globals)
{
	intl = globals;
	release_intl();
	memset(&intl->error, 0, sizeof intl->error);
	HEARTH_ADD(HEARTH_SCOPE_REQUEST, hearth_extension_owner("intl", release_intl), intl->error);
	/* The comparison of Collator::sort() may wait. */
	HEARTH_ADD(HEARTH_SCOPE_TASK, hearth_extension_owner("intl", NULL), intl->collator);
	HEARTH_ADD(HEARTH_SCOPE_TASK, hearth_extension_owner("intl", NULL), intl->compare);
}

/* ---- pgsql ---- */

static HashTable *pgsql_names[2];

static void release_pgsql(void)
{
	for (size_t i = 0; i < 2; i++) {
		dtor_func_t release_name = pgsql_names[i]->pDestructor;

		zend_hash_destroy(pgsql_names[i]);
		zend_hash_init(pgsql_names[i], 0, NULL, release_name, 0);
	}
}

/* The names of types and tables, by numbers that differ between databases. */
static void add_pgsql(void *globals)
{
	uint32_t owner = hearth_extension_owner("pgsql", release_pgsql);

	for (size_t i = 0; i < 2; i++) {
		pgsql_names[i] = (HashTable *) ((char *) globals + HEARTH_BY_VERSION(64, 152) + i * sizeof(HashTable));
	}
	release_pgsql();
	hearth_ranges_add(HEARTH_SCOPE_REQUEST, owner, pgsql_names[0], 2 * sizeof(HashTable));
	HEARTH_SENTINEL(HEARTH_SCOPE_REQUEST, pgsql_names[0]->nNumUsed);
	HEARTH_SENTINEL(HEARTH_SCOPE_REQUEST, pgsql_names[1]->nNumUsed);
}

/* ---- random ---- */

/* mt_rand() and lcg_value() seed themselves at their first use, and set a flag beside their state. */
static void add_random(void *globals)
{
	uint32_t owner = hearth_extension_owner("random", NULL);

	(void) globals;
	HEARTH_RESEED_RANDOM();
	HEARTH_ADD(HEARTH_SCOPE_REQUEST, owner, RANDOM_G(mt19937_seeded));
	hearth_ranges_add(HEARTH_SCOPE_REQUEST, owner, HEARTH_MT_STATE, sizeof(php_random_status_state_mt19937));
	HEARTH_SENTINEL(HEARTH_SCOPE_REQUEST, RANDOM_G(mt19937_seeded));
	HEARTH_ADD(HEARTH_SCOPE_REQUEST, owner, RANDOM_G(combined_lcg_seeded));
	hearth_ranges_add(HEARTH_SCOPE_REQUEST, owner, HEARTH_LCG_STATE, HEARTH_LCG_SIZE);
	HEARTH_SENTINEL(HEARTH_SCOPE_REQUEST, RANDOM_G(combined_lcg_seeded));
}

/* ---- libxml ---- */

static zend_module_entry *libxml;

/* The extension's RINIT tells libxml2 again where errors and files go. */
static void release_libxml(void)
{
	/* libxml_set_streams_context(): the extension leaves the context to the end of all resources. */
	zval *context = libxml->globals_ptr;

	zval_ptr_dtor(context);
	ZVAL_UNDEF(context);
	libxml->request_shutdown_func(libxml->type, libxml->module_number);
	libxml->post_deactivate_func();
	libxml->request_startup_func(libxml->type, libxml->module_number);
}

/* Adds a variable of libxml2 by the function that returns its address. */
static const void *add_library_variable(hearth_scope scope, uint32_t owner, const char *accessor, size_t size)
{
	void *(*place)(void);

	*(void **) &place = dlsym(RTLD_DEFAULT, accessor);
	if (!place) {
		return NULL;
	}
	hearth_ranges_add(scope, owner, place(), size);
	return place();
}

static void add_libxml_globals(uint32_t owner, const hearth_libxml_globals *globals)
{
	hearth_ranges_add(HEARTH_SCOPE_REQUEST, owner, (void *) globals, libxml->globals_size);
	if (libxml->globals_size == sizeof *globals) {
		HEARTH_SENTINEL(HEARTH_SCOPE_REQUEST, globals->stream_context);
		HEARTH_SENTINEL(HEARTH_SCOPE_REQUEST, globals->error_buffer);
		HEARTH_SENTINEL(HEARTH_SCOPE_REQUEST, globals->error_list);
		HEARTH_SENTINEL(HEARTH_SCOPE_REQUEST, globals->HEARTH_LIBXML_LOADER);
		HEARTH_SENTINEL(HEARTH_SCOPE_REQUEST, globals->loader_disabled);
	}
}

/* libxml_get_last_error(): an xmlError, which owns its strings. It begins with the domain and the code. */
static void add_last_error(uint32_t owner)
{
	const void *error = add_library_variable(HEARTH_SCOPE_REQUEST, owner, "__xmlLastError", 88);

	if (error) {
		hearth_ranges_sentinel(HEARTH_SCOPE_REQUEST, error, 2 * sizeof(int));
	}
}

/* Each parser of an extension sets these and puts them back when it ends, as if no other parser began in the middle. */
static void add_parser_defaults(void)
{
	static const char *const accessors[] = {
		"__xmlSubstituteEntitiesDefaultValue", "__xmlLoadExtDtdDefaultValue", "__xmlDoValidityCheckingDefaultValue",
		"__xmlPedanticParserDefaultValue", "__xmlLineNumbersDefaultValue", "__xmlKeepBlanksDefaultValue",
	};

	for (size_t i = 0; i < sizeof accessors / sizeof *accessors; i++) {
		add_library_variable(HEARTH_SCOPE_TASK, hearth_extension_owner("libxml", NULL), accessors[i], sizeof(int));
	}
}

static void add_libxml(void *globals)
{
	uint32_t owner = hearth_extension_owner("libxml", release_libxml);

	libxml = zend_hash_str_find_ptr(&module_registry, ZEND_STRL("libxml"));
	release_libxml();
	add_libxml_globals(owner, globals);
	/* libxml_use_internal_errors() */
	add_library_variable(HEARTH_SCOPE_REQUEST, owner, "__xmlStructuredError", sizeof(void *));
	add_library_variable(HEARTH_SCOPE_REQUEST, owner, "__xmlStructuredErrorContext", sizeof(void *));
	add_last_error(owner);
	add_parser_defaults();
}

/* ---- rrd ---- */

/* rrd_error(): librrd has one text of this size per thread. */
static void add_rrd(void *globals)
{
	enum { SIZE = 4096 };
	const void *text = add_library_variable(HEARTH_SCOPE_REQUEST, hearth_extension_owner("rrd", NULL), "rrd_get_error", SIZE);

	if (text) {
		hearth_ranges_sentinel(HEARTH_SCOPE_REQUEST, text, 1);
	}
}

/* ---- all of them ---- */

static const struct { const char *module; size_t size; void (*add)(void *globals); } extensions[] = {
	{"date", sizeof(zend_date_globals), add_date},
	{"filter", 0, add_filter},
	{"intl", 64, add_intl},
	{"libxml", 0, add_libxml},
	{"mbstring", sizeof(zend_mbstring_globals), hearth_extension_add_mbstring},
	{"mongodb", HEARTH_BY_VERSION(96, 104), hearth_extension_add_mongodb},
	{"mysqli", sizeof(zend_mysqli_globals), add_mysqli},
	{"openssl", HEARTH_BY_VERSION(1, 2) * sizeof(void *), add_openssl},
	{"pcre", sizeof(zend_pcre_globals), add_pcre},
	{"pgsql", HEARTH_BY_VERSION(232, 320), add_pgsql},
	{"random", 0, add_random},
	{"rrd", 0, add_rrd},
	{"session", 0, NULL},            /* the open session is exchanged as a whole: see state/session.c */
};

bool hearth_extension_add(const zend_module_entry *module)
{
	for (size_t i = 0; i < sizeof extensions / sizeof *extensions; i++) {
		if (strcasecmp(extensions[i].module, module->name) == 0 && (!extensions[i].size || extensions[i].size == module->globals_size)) {
			if (extensions[i].add) {
				extensions[i].add(module->globals_ptr);
			}
			return true;
		}
	}
	return false;
}
