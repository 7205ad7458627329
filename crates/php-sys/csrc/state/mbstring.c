/* State of mbstring that belongs to a request: encodings, their detection order, and the search of mb_ereg_search(). */
#include "engine/replace.h"
#include "state/extensions.h"

#include <dlfcn.h>

static zend_mbstring_globals *mbstring;
/* From ext/mbstring/php_mbregex.c. */
typedef struct {
	void *default_mbctype, *current_mbctype;
	const void *current_mbctype_mbfl_encoding;
	HashTable cache;
	zval search_str;
	zval *search_str_val;
	size_t search_pos;
	void *search_re, *search_regs;
	unsigned options;
	void *syntax;
} regex_globals;
static const mbfl_encoding **boot_detect_order;
static zif_handler detect_order_function, info_function;

static void release_mbstring(void)
{
	if (mbstring->current_detect_order_list != boot_detect_order) {
		efree((void *) mbstring->current_detect_order_list);
	}
	if (mbstring->last_used_encoding_name) {
		zend_string_release(mbstring->last_used_encoding_name);
	}
	if (HEARTH_MBSTRING_CONVERTER(mbstring)) {
		void (*delete)(void *);

		*(void **) &delete = dlsym(RTLD_DEFAULT, "mbfl_buffer_converter_delete");
		if (delete) {
			delete(HEARTH_MBSTRING_CONVERTER(mbstring));
		}
	}
}

/* The cache goes with the search: an entry that another request replaces would be freed under a running search. */
static void release_mbstring_search(void)
{
	regex_globals *regex = (regex_globals *) mbstring->mb_regex_globals;
	void (*free_region)(void *, int);

	if (!Z_ISUNDEF(regex->search_str)) {
		zval_ptr_dtor(&regex->search_str);
		ZVAL_UNDEF(&regex->search_str);
	}
	*(void **) &free_region = dlsym(RTLD_DEFAULT, "onig_region_free");
	if (regex->search_regs && free_region) {
		free_region(regex->search_regs, 1);
	}
	zend_hash_destroy(&regex->cache);
	zend_hash_init(&regex->cache, 0, NULL, regex->cache.pDestructor, 1);
}

/* mb_detect_order() frees the previous list; boot's list belongs to every request, so the request gets a copy first. */
static void on_detect_order(INTERNAL_FUNCTION_PARAMETERS)
{
	if (ZEND_NUM_ARGS() && mbstring->current_detect_order_list == boot_detect_order) {
		size_t size = mbstring->current_detect_order_list_size * sizeof *boot_detect_order;

		mbstring->current_detect_order_list = emalloc(size);
		memcpy((void *) mbstring->current_detect_order_list, boot_detect_order, size);
	}
	detect_order_function(INTERNAL_FUNCTION_PARAM_PASSTHRU);
}

/* Returns what of mb_get_info()'s result is the setting. */
static const zval *mimetypes_of(const zval *result)
{
	return Z_TYPE_P(result) == IS_ARRAY ? zend_hash_str_find(Z_ARRVAL_P(result), ZEND_STRL("http_output_conv_mimetypes")) : result;
}

/* PHP 8.4 returns the string of the setting without counting the reference, and so frees it while the setting has it. */
static void on_info(INTERNAL_FUNCTION_PARAMETERS)
{
	const zend_ini_entry *setting = zend_hash_str_find_ptr(EG(ini_directives), ZEND_STRL("mbstring.http_output_conv_mimetypes"));
	zend_string *value = setting ? setting->value : NULL;
	uint32_t references = value ? GC_REFCOUNT(value) : 0;
	const zval *returned;

	info_function(INTERNAL_FUNCTION_PARAM_PASSTHRU);
	returned = mimetypes_of(return_value);
	if (returned && Z_TYPE_P(returned) == IS_STRING && Z_STR_P(returned) == value && GC_REFCOUNT(value) == references
			&& !ZSTR_IS_INTERNED(value)) {
		GC_ADDREF(value);
	}
}

static void add_mbstring_search(void)
{
	regex_globals *regex = (regex_globals *) mbstring->mb_regex_globals;
	uint32_t owner = hearth_extension_owner("mbstring search", release_mbstring_search);

	if (regex) {
		release_mbstring_search();
		regex->search_regs = NULL;
		HEARTH_ADD_SPAN(HEARTH_SCOPE_REQUEST, owner, regex->current_mbctype, regex->syntax);
		HEARTH_SENTINEL(HEARTH_SCOPE_REQUEST, regex->current_mbctype);
		HEARTH_SENTINEL(HEARTH_SCOPE_REQUEST, regex->cache.nNumUsed);
		hearth_ranges_sentinel(HEARTH_SCOPE_REQUEST, &regex->search_str, (size_t) ((char *) (&regex->syntax + 1) - (char *) &regex->search_str));
	}
}

void hearth_extension_add_mbstring(void *globals)
{
	uint32_t owner = hearth_extension_owner("mbstring", release_mbstring);

	mbstring = globals;
	if (mbstring->last_used_encoding_name) {
		zend_string_release(mbstring->last_used_encoding_name);
		mbstring->last_used_encoding_name = NULL;
	}
	boot_detect_order = mbstring->current_detect_order_list;
	hearth_replace_function("mb_detect_order", &detect_order_function, on_detect_order);
	hearth_replace_function("mb_get_info", &info_function, on_info);
	HEARTH_ADD(HEARTH_SCOPE_REQUEST, owner, mbstring->current_internal_encoding);
	HEARTH_ADD(HEARTH_SCOPE_REQUEST, owner, mbstring->current_http_output_encoding);
	HEARTH_ADD_SPAN(HEARTH_SCOPE_REQUEST, owner, mbstring->http_input_identify, mbstring->http_input_identify_string);
	HEARTH_ADD_SPAN(HEARTH_SCOPE_REQUEST, owner, mbstring->current_detect_order_list, mbstring->current_detect_order_list_size);
	HEARTH_ADD_SPAN(HEARTH_SCOPE_REQUEST, owner, mbstring->current_filter_illegal_mode, mbstring->current_filter_illegal_substchar);
	HEARTH_ADD_SPAN(HEARTH_SCOPE_REQUEST, owner, mbstring->illegalchars, HEARTH_MBSTRING_OUTPUT(mbstring));
	HEARTH_ADD_SPAN(HEARTH_SCOPE_REQUEST, owner, mbstring->last_used_encoding_name, mbstring->http_input_set);
	add_mbstring_search();
}
