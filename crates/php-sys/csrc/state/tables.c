/* The engine's tables and settings, compared by their entries: the keys of a table, the value of a setting. */
#include "compat.h"
#include "state/check.h"

#include <ext/standard/file.h>

typedef struct { const char *name; HashTable *table; int treatment; } named_table;

/* The keys that a table had. Tables that only grow are not kept. */
typedef struct { HashTable keys; bool present; } table_keys;

#define HEARTH_MOST_TABLES 24

struct hearth_table_snapshot {
	table_keys tables[HEARTH_MOST_TABLES];
	HashTable settings;              /* name => value */
};

static size_t list_tables(named_table *list)
{
	named_table all[] = {
		{"EG(symbol_table): global variables", &EG(symbol_table), HEARTH_STATE_KEPT},
		{"EG(function_table): functions", EG(function_table), HEARTH_STATE_KEPT},
		{"EG(class_table): classes", EG(class_table), HEARTH_STATE_KEPT},
		{"EG(zend_constants): constants", EG(zend_constants), HEARTH_STATE_KEPT},
		{"EG(included_files)", &EG(included_files), HEARTH_STATE_KEPT},
		{"EG(regular_list): resources", &EG(regular_list), HEARTH_STATE_OPEN},
		{"EG(persistent_list): persistent resources", &EG(persistent_list), HEARTH_STATE_PERSISTENT},
		{"module_registry", &module_registry, HEARTH_STATE_RESTORED},
		{"stream wrappers of all", php_stream_get_url_stream_wrappers_hash_global(), HEARTH_STATE_RESTORED},
		{"FG(stream_wrappers): stream wrappers", FG(stream_wrappers), HEARTH_STATE_RESTORED},
		{"FG(stream_filters): stream filters", FG(stream_filters), HEARTH_STATE_RESTORED},
		{"FG(wrapper_errors)", FG(wrapper_errors), HEARTH_STATE_RESTORED},
		{"BG(putenv_ht): putenv()", &BG(putenv_ht), HEARTH_STATE_KEPT},
		{"BG(user_filter_map): stream_filter_register()", BG(user_filter_map), HEARTH_STATE_RESTORED},
		{"SG(known_post_content_types)", &SG(known_post_content_types), HEARTH_STATE_RESTORED},
		{"EG(in_autoload)", EG(in_autoload), HEARTH_STATE_RESTORED},
		{"CG(delayed_autoloads)", CG(delayed_autoloads), HEARTH_STATE_RESTORED},
		{"CG(delayed_variance_obligations)", CG(delayed_variance_obligations), HEARTH_STATE_RESTORED},
	};

	memcpy(list, all, sizeof all);
	return sizeof all / sizeof *all;
}

static void drop_string(zval *value)
{
	pefree(Z_PTR_P(value), 1);
}

/* Copies the key into memory of the process, which no request frees. */
static void keep_key(HashTable *keys, const zend_string *key, zend_ulong index)
{
	char number[32];

	if (key) {
		zend_hash_str_add_empty_element(keys, ZSTR_VAL(key), ZSTR_LEN(key));
	} else {
		int length = snprintf(number, sizeof number, "#" ZEND_ULONG_FMT, index);
		zend_hash_str_add_empty_element(keys, number, (size_t) length);
	}
}

static void keep_table(table_keys *kept, const HashTable *table)
{
	zend_string *key;
	zend_ulong index;

	zend_hash_init(&kept->keys, 8, NULL, NULL, 1);
	kept->present = table != NULL;
	if (!table) {
		return;
	}
	ZEND_HASH_FOREACH_KEY((HashTable *) table, index, key) {
		keep_key(&kept->keys, key, index);
	} ZEND_HASH_FOREACH_END();
}

/* Returns a setting's value, and whether a request has set it. */
static char *setting(const zend_ini_entry *entry)
{
	const char *value = entry->value ? ZSTR_VAL(entry->value) : "";
	size_t length = strlen(value) + sizeof "* ";
	char *text = pemalloc(length, 1);

	snprintf(text, length, "%s%s", entry->modified ? "* " : "", value);
	return text;
}

static void keep_settings(HashTable *settings)
{
	zend_ini_entry *entry;

	zend_hash_init(settings, 512, NULL, drop_string, 1);
	ZEND_HASH_FOREACH_PTR(EG(ini_directives), entry) {
		zend_hash_str_add_ptr(settings, ZSTR_VAL(entry->name), ZSTR_LEN(entry->name), setting(entry));
	} ZEND_HASH_FOREACH_END();
}

hearth_table_snapshot *hearth_tables_take(void)
{
	hearth_table_snapshot *snapshot = pecalloc(1, sizeof *snapshot, 1);
	named_table list[HEARTH_MOST_TABLES];
	size_t count = list_tables(list);

	for (size_t i = 0; i < count; i++) {
		if (list[i].treatment != HEARTH_STATE_KEPT) {
			keep_table(&snapshot->tables[i], list[i].table);
		}
	}
	keep_settings(&snapshot->settings);
	return snapshot;
}

void hearth_tables_free(hearth_table_snapshot *snapshot)
{
	named_table list[HEARTH_MOST_TABLES];
	size_t count = list_tables(list);

	for (size_t i = 0; i < count; i++) {
		if (list[i].treatment != HEARTH_STATE_KEPT) {
			zend_hash_destroy(&snapshot->tables[i].keys);
		}
	}
	zend_hash_destroy(&snapshot->settings);
	pefree(snapshot, 1);
}

typedef struct {
	hearth_state_listener report;
	void *context;
} listener;

static void report_change(const listener *to, const char *kind, const named_table *table, const char *before, const char *after)
{
	hearth_state_row row = {table->name, "engine", NULL, 0, table->treatment, ""};
	hearth_state_change change = {.object = "engine", .kind = kind, .name = table->name, .words = 1, .before = before, .after = after, .row = &row};

	to->report(to->context, &change);
}

/* Describes a key; for a resource, its type too. */
static void describe(const named_table *table, const char *key, char *text, size_t size)
{
	const zend_resource *resource = table->table == &EG(regular_list) && *key == '#' ? zend_hash_index_find_ptr(table->table, ZEND_STRTOUL(key + 1, NULL, 10)) : NULL;
	const char *kind = resource ? zend_rsrc_list_get_rsrc_type((zend_resource *) resource) : NULL;
	const php_stream *stream = kind && strcmp(kind, "stream") == 0 ? resource->ptr : NULL;

	snprintf(text, size, "%s%s%s%s%s", key, kind ? " " : "", kind ? kind : "", stream && stream->orig_path ? " of " : "",
		stream && stream->orig_path ? stream->orig_path : "");
}

static void compare_table(const listener *to, const named_table *now, const table_keys *before)
{
	table_keys current;
	zend_string *key;
	char text[256];

	keep_table(&current, now->table);
	ZEND_HASH_FOREACH_STR_KEY(&current.keys, key) {
		if (!zend_hash_exists(&before->keys, key)) {
			describe(now, ZSTR_VAL(key), text, sizeof text);
			report_change(to, "table", now, "", text);
		}
	} ZEND_HASH_FOREACH_END();
	ZEND_HASH_FOREACH_STR_KEY((HashTable *) &before->keys, key) {
		if (!zend_hash_exists(&current.keys, key)) {
			report_change(to, "table", now, ZSTR_VAL(key), "");
		}
	} ZEND_HASH_FOREACH_END();
	zend_hash_destroy(&current.keys);
}

static void compare_settings(const listener *to, const HashTable *before)
{
	zend_ini_entry *entry;

	ZEND_HASH_FOREACH_PTR(EG(ini_directives), entry) {
		char *now = setting(entry);
		const char *then = zend_hash_find_ptr(before, entry->name);

		if (!then || strcmp(now, then) != 0) {
			const named_table named = {ZSTR_VAL(entry->name), NULL, HEARTH_STATE_RESTORED};

			report_change(to, "setting", &named, then ? then : "", now);
		}
		pefree(now, 1);
	} ZEND_HASH_FOREACH_END();
}

void hearth_tables_compare(const hearth_table_snapshot *before, hearth_state_listener report, void *context)
{
	const listener to = {report, context};
	named_table list[HEARTH_MOST_TABLES];
	size_t count = list_tables(list);

	for (size_t i = 0; i < count; i++) {
		if (list[i].treatment != HEARTH_STATE_KEPT) {
			compare_table(&to, &list[i], &before->tables[i]);
		}
	}
	compare_settings(&to, &before->settings);
}
