/*
 * State of the engine and of extensions that few requests touch: memory that is compared with what boot left, and put
 * away only where it differs. The table lists that memory: state/engine.toml and state/modules.toml.
 */
#ifndef HEARTH_STATE_RANGES_H
#define HEARTH_STATE_RANGES_H

#include "compat.h"

typedef enum { HEARTH_SCOPE_TASK = 0, HEARTH_SCOPE_REQUEST = 1, HEARTH_SCOPE_WORKER = 2 } hearth_scope;
typedef enum { HEARTH_TREATMENT_EXCHANGED = 0, HEARTH_TREATMENT_RESET, HEARTH_TREATMENT_KEPT, HEARTH_TREATMENT_REFUSED } hearth_treatment;

/* Ranges that are released together: those of a row of engine.toml, or of an extension. */
typedef struct {
	const char *name;
	/* Frees state of an ended request or task; the ranges get their first content back afterwards. NULL: nothing to free. */
	void (*release)(void);
	/* Makes the process follow the ranges after they were saved, loaded or restored. NULL: nothing to do. */
	void (*apply)(void);
	/* The extension whose own RSHUTDOWN frees the state. */
	zend_module_entry *module;
	/* A cache: released instead of saved. */
	bool dropped;
	/* Whether the table does not list the extension: see state/modules.c. */
	bool unknown;
} hearth_state_owner;

typedef struct hearth_saved_ranges hearth_saved_ranges;

/* Called up to the seal: returns the owner's index, for hearth_ranges_add(). `owner` is copied. */
uint32_t hearth_ranges_owner(const hearth_state_owner *owner);
void hearth_ranges_add(hearth_scope scope, uint32_t owner, void *live, size_t size);
/* Adds a part of the last added range that changes whenever the range does. Only the sentinels are compared then. */
void hearth_ranges_sentinel(hearth_scope scope, const void *live, size_t size);
/* Makes the current content of the ranges the first content of every request and every task. */
void hearth_ranges_seal(void);

/* Whether a range differs from its first content. */
bool hearth_ranges_changed(hearth_scope scope);
/* Puts away the ranges that differ, and restores the first content. NULL if only caches differed. */
hearth_saved_ranges *hearth_ranges_save(hearth_scope scope);
/* Puts them back and frees `saved`. */
void hearth_ranges_load(hearth_scope scope, hearth_saved_ranges *saved);
void hearth_ranges_free(hearth_saved_ranges *saved);
/* Releases the ranges that differ, and restores the first content. This may run PHP code: destructors. */
void hearth_ranges_release(hearth_scope scope);
/* Restores the first content after a fatal error, without freeing anything. */
void hearth_ranges_forget(hearth_scope scope);

/* Lists all ranges, for the check that compares memory. Returns false behind the last. */
typedef struct { const char *owner; hearth_scope scope; bool dropped; const void *live; size_t size; } hearth_range_view;
bool hearth_ranges_view(uint32_t index, hearth_range_view *view);

typedef enum { HEARTH_GLOBALS_REQUEST = 0, HEARTH_GLOBALS_TASK, HEARTH_GLOBALS_FIELDS, HEARTH_GLOBALS_KEPT } hearth_globals;
typedef struct { const char *name; hearth_scope scope; uint32_t offset, size; } hearth_module_field;

/* A row of modules.toml. */
typedef struct {
	const char *name;
	/* Where the globals are if not in the module entry: behind the entry of a setting, or at a symbol. */
	const char *base_ini, *base_symbol;
	hearth_globals globals;
	bool calls_end;                  /* the extension's RSHUTDOWN frees the state of a request */
	uint32_t size;                   /* of the globals, in this version of PHP */
	uint32_t field_count;
	const hearth_module_field *fields;
} hearth_module_row;

/* Returns NULL for an extension that the table does not list. */
const hearth_module_row *hearth_module_row_of(const char *name);
/* Returns the globals of an extension that the table lists, or NULL. */
char *hearth_module_globals(const zend_module_entry *module, const hearth_module_row *row);

/* state/modules.c: the ranges of all extensions; state/engine.c: those of the engine. */
void hearth_modules_before_boot(void);
void hearth_modules_seal(void);
void hearth_engine_ranges_add(void);
/* Whether the changed globals of an extension that the table does not list may be exchanged. */
bool hearth_module_is_exchangeable(const char *name, const char *live, const char *first, size_t size);

/* state/boot.c: settings of the entry script, given to each request. */
void hearth_boot_settings_seal(void);
void hearth_boot_settings_apply(void);
zend_resource *hearth_wrapper_resource(php_stream_wrapper *wrapper);
void hearth_boot_spare_filters(HashTable *copy);

#endif
