/* The functions of APCu that describe the content of the cache. */
#include "cache/apcu.h"

static uint64_t figure(const char *name)
{
	hearth_cache_figure figures[32] = {0};
	size_t count = hearth_on_cache_stats(figures, sizeof figures / sizeof *figures);

	for (size_t i = 0; i < count; i++) {
		if (figures[i].name.len == strlen(name) && memcmp(figures[i].name.ptr, name, figures[i].name.len) == 0) {
			return figures[i].value;
		}
	}
	return 0;
}

static void add_long(zval *array, const char *name, uint64_t value)
{
	add_assoc_long(array, name, (zend_long) value);
}

/* APCu returns numbers that may be large as floats. */
static void add_float(zval *array, const char *name, uint64_t value)
{
	add_assoc_double(array, name, (double) value);
}

/* The times are 0: the cache only keeps the time when a value expires. */
static void add_times(zval *array, const char *access)
{
	add_long(array, "mtime", 0);
	add_long(array, "creation_time", 0);
	add_long(array, "deletion_time", 0);
	add_long(array, access, 0);
}

static uint64_t seconds(uint64_t left)
{
	return (left + 999999) / 1000000;
}

static void add_entry(zval *list, const hearth_cache_entry *entry)
{
	zval row;

	array_init(&row);
	add_assoc_stringl(&row, "info", entry->key.ptr + HEARTH_APCU_PREFIX_LENGTH, entry->key.len - HEARTH_APCU_PREFIX_LENGTH);
	add_long(&row, "ttl", seconds(entry->left));
	add_float(&row, "num_hits", entry->reads);
	add_times(&row, "access_time");
	add_long(&row, "ref_count", 0);
	add_long(&row, "mem_size", entry->size);
	add_next_index_zval(list, &row);
}

ZEND_FUNCTION(hearth_apcu_cache_info)
{
	bool limited = false;
	uint64_t size = 0;
	size_t count;
	zval list, empty;

	ZEND_PARSE_PARAMETERS_START(0, 1)
		Z_PARAM_OPTIONAL
		Z_PARAM_BOOL(limited)
	ZEND_PARSE_PARAMETERS_END();
	count = hearth_on_cache_list((hearth_str){HEARTH_APCU_PREFIX, HEARTH_APCU_PREFIX_LENGTH});
	array_init(&list);
	for (size_t i = 0; i < count; i++) {
		hearth_cache_entry entry = hearth_on_cache_listed(i);

		size += entry.size;
		add_entry(&list, &entry);
	}
	array_init(return_value);
	add_long(return_value, "num_slots", figure("size") / 256);
	add_long(return_value, "ttl", 0);
	add_float(return_value, "num_hits", figure("hits"));
	add_float(return_value, "num_misses", figure("misses"));
	add_float(return_value, "num_inserts", figure("writes"));
	add_long(return_value, "num_entries", count);
	add_float(return_value, "expunges", 0);
	add_long(return_value, "start_time", 0);
	add_float(return_value, "mem_size", size);
	add_assoc_string(return_value, "memory_type", "mmap");
	if (limited) {
		zval_ptr_dtor(&list);
		return;
	}
	add_assoc_zval(return_value, "cache_list", &list);
	ZVAL_EMPTY_ARRAY(&empty);
	add_assoc_zval(return_value, "deleted_list", &empty);
	add_assoc_zval(return_value, "slot_distribution", &empty);
}

ZEND_FUNCTION(hearth_apcu_key_info)
{
	zend_string *name, *key;
	hearth_cache_key full;
	size_t count;

	ZEND_PARSE_PARAMETERS_START(1, 1)
		Z_PARAM_STR(name)
	ZEND_PARSE_PARAMETERS_END();
	key = hearth_apcu_key(name);
	count = hearth_cache_key_of(&hearth_apcu, key, 1, &full) ? hearth_on_cache_list((hearth_str){full.ptr, full.len}) : 0;
	for (size_t i = 0; i < count; i++) {
		hearth_cache_entry entry = hearth_on_cache_listed(i);

		if (entry.key.len == full.len) {
			array_init(return_value);
			add_long(return_value, "hits", entry.reads);
			add_long(return_value, "access_time", 0);
			add_long(return_value, "mtime", 0);
			add_long(return_value, "creation_time", 0);
			add_long(return_value, "deletion_time", 0);
			add_long(return_value, "ttl", seconds(entry.left));
			add_long(return_value, "refs", 0);
		}
	}
	zend_string_release(key);
}

ZEND_FUNCTION(hearth_apcu_sma_info)
{
	bool limited = false;
	uint64_t size = figure("size");
	uint64_t left = size - MIN(size, figure("used"));
	zval lists, list, block;

	ZEND_PARSE_PARAMETERS_START(0, 1)
		Z_PARAM_OPTIONAL
		Z_PARAM_BOOL(limited)
	ZEND_PARSE_PARAMETERS_END();
	array_init(return_value);
	add_long(return_value, "num_seg", 1);
	add_assoc_double(return_value, "seg_size", (double) size);
	add_assoc_double(return_value, "avail_mem", (double) left);
	if (!limited) {
		/* The cells have one size, so the free memory is shown as one block. */
		array_init(&block);
		add_long(&block, "size", left);
		add_long(&block, "offset", size - left);
		array_init(&list);
		add_next_index_zval(&list, &block);
		array_init(&lists);
		add_next_index_zval(&lists, &list);
		add_assoc_zval(return_value, "block_lists", &lists);
	}
}

ZEND_FUNCTION(hearth_apcu_enabled)
{
	ZEND_PARSE_PARAMETERS_NONE();
	RETURN_TRUE;
}
