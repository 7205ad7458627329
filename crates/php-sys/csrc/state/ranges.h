/*
 * State of the engine and of extensions that few requests touch: memory that is compared with what boot left, and put
 * away only where it differs. Which memory that is, the table says: state/engine.toml and state/modules.toml.
 */
#ifndef HEARTH_STATE_RANGES_H
#define HEARTH_STATE_RANGES_H

#include "compat.h"

typedef enum { HEARTH_SCOPE_TASK = 0, HEARTH_SCOPE_REQUEST = 1, HEARTH_SCOPE_WORKER = 2 } hearth_scope;
typedef enum { HEARTH_TREATMENT_EXCHANGED = 0, HEARTH_TREATMENT_RESET, HEARTH_TREATMENT_KEPT, HEARTH_TREATMENT_REFUSED } hearth_treatment;

/* Ranges that are released together: those of a row of engine.toml, or of an extension. */
typedef struct {
	const char *name;
	/* Frees what an ended request or task left; the ranges get their first content back afterwards. NULL: nothing to free. */
	void (*release)(void);
	/* Makes the process follow the ranges after these were saved, loaded or restored. NULL: nothing to do. */
	void (*apply)(void);
	/* The extension whose own end of a request does that. */
	zend_module_entry *module;
	/* A cache: released where another would be saved. */
	bool dropped;
	/* The table does not know the extension: see state/modules.c. */
	bool unknown;
} hearth_state_owner;

typedef struct hearth_saved_ranges hearth_saved_ranges;

/* Up to the seal: the owner's index, for hearth_ranges_add(). `owner` is copied. */
uint32_t hearth_ranges_owner(const hearth_state_owner *owner);
void hearth_ranges_add(hearth_scope scope, uint32_t owner, void *live, size_t size);
/* A part of the range that was added last: no code changes the range without it. Only the sentinels are compared then. */
void hearth_ranges_sentinel(hearth_scope scope, const void *live, size_t size);
/* What the ranges have in them now is what every request and every task begins with. */
void hearth_ranges_seal(void);

/* Whether a range differs from its first content. */
bool hearth_ranges_changed(hearth_scope scope);
/* Put away what differs and restore the first content. NULL if only caches differed. */
hearth_saved_ranges *hearth_ranges_save(hearth_scope scope);
/* Put it back and free it. */
void hearth_ranges_load(hearth_scope scope, hearth_saved_ranges *saved);
void hearth_ranges_free(hearth_saved_ranges *saved);
/* Release what differs and restore the first content. This may run PHP code: destructors. */
void hearth_ranges_release(hearth_scope scope);
/* Restore the first content after a fatal error: nothing is freed. */
void hearth_ranges_forget(hearth_scope scope);

/* All ranges, for the check that compares memory. Returns false behind the last. */
typedef struct { const char *owner; hearth_scope scope; bool dropped; const void *live; size_t size; } hearth_range_view;
bool hearth_ranges_view(uint32_t index, hearth_range_view *view);

typedef enum { HEARTH_GLOBALS_REQUEST = 0, HEARTH_GLOBALS_TASK, HEARTH_GLOBALS_FIELDS, HEARTH_GLOBALS_KEPT } hearth_globals;
typedef struct { const char *name; hearth_scope scope; uint32_t offset, size; } hearth_module_field;

/* A row of modules.toml. */
typedef struct {
	const char *name;
	/* Where the globals are if the module entry does not say so: behind the entry of a setting, or at a symbol. */
	const char *base_ini, *base_symbol;
	hearth_globals globals;
	bool calls_end;                  /* the extension's RSHUTDOWN frees what a request left */
	uint32_t size;                   /* of the globals, in this version of PHP */
	uint32_t field_count;
	const hearth_module_field *fields;
} hearth_module_row;

/* NULL for an extension that the table does not know. */
const hearth_module_row *hearth_module_row_of(const char *name);
/* Where the globals of an extension are that the table knows, or NULL. */
char *hearth_module_globals(const zend_module_entry *module, const hearth_module_row *row);

/* state/modules.c: the ranges of all extensions; state/engine.c: those of the engine. */
void hearth_modules_before_boot(void);
void hearth_modules_seal(void);
void hearth_engine_ranges_add(void);
/* An extension that the table does not know has changed its globals: may they be exchanged? */
bool hearth_module_is_exchangeable(const char *name, const char *live, const char *first, size_t size);

/* state/boot.c: what the entry script set, given to each request. */
void hearth_boot_settings_seal(void);
void hearth_boot_settings_apply(void);
zend_resource *hearth_wrapper_resource(php_stream_wrapper *wrapper);
void hearth_boot_spare_filters(HashTable *copy);
bool hearth_call_function(const char *name, zval *argument, zval *result);

#endif
