/* State that libphp keeps in variables without an exported name: how they are found, and their replacements. */
#include "engine/internal_call.h"
#include "engine/replace.h"
#include "hearth.h"
#include "state/local_symbols.h"
#include "state/ranges.h"
#include "state_table.h"
#include "task/task.h"

#include <libintl.h>
#include <link.h>

/* ---- assert ---- */

/* The setting's entry points to the extension's globals: the callback is their first member, the setting 24 bytes on. */
zval *hearth_assert_callback(void)
{
	const zend_ini_entry *entry = zend_hash_str_find_ptr(EG(ini_directives), ZEND_STRL("assert.active"));

	return entry && entry->mh_arg1 == (void *) (sizeof(zval) + sizeof(char *)) ? entry->mh_arg2 : NULL;
}

void hearth_release_assert_callback(void)
{
	zval_ptr_dtor(hearth_assert_callback());
	ZVAL_UNDEF(hearth_assert_callback());
}

static int (*assert_callback_on_modify)(zend_ini_entry *, zend_string *, void *, void *, void *, int);

/*
 * The setting's own code, outside of a function, makes its value the callback of all requests that have none: it takes that
 * moment for the start of the process. The state that follows the setting is exchanged separately.
 */
static ZEND_INI_MH(on_assert_callback)
{
	return stage == ZEND_INI_STAGE_DEACTIVATE ? SUCCESS
		: assert_callback_on_modify(entry, new_value, mh_arg1, mh_arg2, mh_arg3, stage);
}

/* Called at the end of boot. */
void hearth_assert_callback_seal(void)
{
	zend_ini_entry *entry = zend_hash_str_find_ptr(EG(ini_directives), ZEND_STRL("assert.callback"));

	if (entry && entry->on_modify != on_assert_callback) {
		assert_callback_on_modify = entry->on_modify;
		entry->on_modify = on_assert_callback;
	}
}

/* ---- directories ---- */

typedef struct { const void *value; void **found; } search;

/* Searches the writable memory of libphp. */
static int find_word(struct dl_phdr_info *object, size_t size, void *context)
{
	search *wanted = context;
	bool ours = false;

	for (int i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &object->dlpi_phdr[i];
		const char *start = (const char *) object->dlpi_addr + part->p_vaddr;

		ours |= part->p_type == PT_LOAD && (const char *) &executor_globals >= start && (const char *) &executor_globals < start + part->p_memsz;
	}
	for (int i = 0; ours && i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &object->dlpi_phdr[i];
		void **word = (void **) ((object->dlpi_addr + part->p_vaddr + 7) & ~(uintptr_t) 7);
		void **end = (void **) (object->dlpi_addr + part->p_vaddr + part->p_memsz);

		for (; part->p_type == PT_LOAD && (part->p_flags & PF_W) && word + 1 <= end; word++) {
			if (*word == wanted->value) {
				wanted->found = word;
				return 1;
			}
		}
	}
	return ours;
}

/* Returns the first place with this value. */
void **hearth_find_in_libphp(const void *value)
{
	search wanted = {value, NULL};

	dl_iterate_phdr(find_word, &wanted);
	return wanted.found;
}

/* Finds the engine's handle of the last opendir(), without open_basedir, which is meant for PHP code only. */
static zend_resource **find_last_directory(void)
{
	void **found = NULL;
	char *open_basedir = PG(open_basedir);
	zval root, handle, ignored;

	PG(open_basedir) = NULL;
	ZVAL_STRING(&root, "/");
	if (hearth_call_function("opendir", 1, &root, &handle)) {
		if (Z_TYPE(handle) == IS_RESOURCE) {
			found = hearth_find_in_libphp(Z_RES(handle));
			if (hearth_call_function("closedir", 1, &handle, &ignored)) {
				zval_ptr_dtor(&ignored);
			}
		}
		zval_ptr_dtor(&handle);
	}
	zval_ptr_dtor(&root);
	PG(open_basedir) = open_basedir;
	/* closedir() resets it, if it is the right place. */
	return found && !*found ? (zend_resource **) found : NULL;
}

zend_resource **hearth_last_directory(void)
{
	static zend_resource **place;
	static bool known;

	if (!known) {
		known = true;
		place = find_last_directory();
	}
	return place;
}

void hearth_release_last_directory(void)
{
	zend_resource *directory = *hearth_last_directory();

	*hearth_last_directory() = NULL;
	if (directory) {
		zend_list_delete(directory);
	}
}

/* ---- the default autoloader ---- */

zend_string *hearth_permanent_string(const zend_string *text)
{
	zend_string *copy = zend_string_init(ZSTR_VAL(text), ZSTR_LEN(text), true);

	zend_string_hash_val(copy);
	GC_ADD_FLAGS(copy, IS_STR_INTERNED | IS_STR_PERMANENT);
	return copy;
}

/*
 * Finds the engine's string of spl_autoload_extensions(). Boot's value is made permanent, because the engine frees the
 * string that a request replaces.
 */
static zend_string **find_autoload_suffixes(void)
{
	void **found = NULL;
	zval before, probe, ignored;

	if (!hearth_call_function("spl_autoload_extensions", 0, NULL, &before)) {
		return NULL;
	}
	ZVAL_STR(&probe, zend_strpprintf(0, "%s,.hearth", Z_STRVAL(before)));
	if (hearth_call_function("spl_autoload_extensions", 1, &probe, &ignored)) {
		zval_ptr_dtor(&ignored);
		found = hearth_find_in_libphp(Z_STR(probe));
	}
	if (hearth_call_function("spl_autoload_extensions", 1, &before, &ignored)) {
		zval_ptr_dtor(&ignored);
	}
	zval_ptr_dtor(&probe);
	if (!found || *found != Z_STR(before)) {
		zval_ptr_dtor(&before);
		return NULL;
	}
	*found = hearth_permanent_string(Z_STR(before));
	zval_ptr_dtor(&before);
	zval_ptr_dtor(&before);
	return (zend_string **) found;
}

zend_string **hearth_autoload_suffixes(void)
{
	static zend_string **place;
	static bool known;

	if (!known) {
		known = true;
		place = find_autoload_suffixes();
	}
	return place;
}

void hearth_release_autoload_suffixes(void)
{
	zend_string **suffixes = hearth_autoload_suffixes();

	zend_string_release(*suffixes);
	*suffixes = NULL;
}

/* ---- gettext ---- */

char *hearth_text_domain;
static char *boot_domain;
static zif_handler textdomain_function;

void hearth_apply_text_domain(void)
{
	textdomain(hearth_text_domain ? hearth_text_domain : boot_domain);
}

void hearth_release_text_domain(void)
{
	free(hearth_text_domain);
	hearth_text_domain = NULL;
}

static void on_textdomain(INTERNAL_FUNCTION_PARAMETERS)
{
	const char *now;

	textdomain_function(INTERNAL_FUNCTION_PARAM_PASSTHRU);
	now = textdomain(NULL);
	if (boot_domain && now && strcmp(now, hearth_text_domain ? hearth_text_domain : boot_domain) != 0) {
		free(hearth_text_domain);
		hearth_text_domain = strcmp(now, boot_domain) == 0 ? NULL : strdup(now);
	}
}

/* Called at the end of boot: every request begins with boot's domain. */
void hearth_text_domain_seal(void)
{
	if (hearth_replace_function("textdomain", &textdomain_function, on_textdomain)) {
		boot_domain = strdup(textdomain(NULL));
	}
}
