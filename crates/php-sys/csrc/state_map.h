/* Where libraries keep what they write: the segments of libphp and of every extension, and the names in them. */
#ifndef HEARTH_STATE_MAP_H
#define HEARTH_STATE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
	uintptr_t address;
	size_t size;
	const char *name;
} hearth_symbol;

typedef struct {
	const char *name;                /* of the file, without its folder */
	const char *path;
	uintptr_t base;
	uintptr_t text;                  /* its code */
	size_t text_size;
	bool has_symbols;                /* the two lists are read */
	hearth_symbol *variables;        /* by address */
	size_t variable_count;
	hearth_symbol *functions;        /* by address */
	size_t function_count;
} hearth_library;

/* Writable memory of a library; what the loader makes read-only after relocation is no part of it. */
typedef struct {
	hearth_library *library;
	uintptr_t start;
	size_t size;
} hearth_segment;

/* The segments of libphp and of every extension that is loaded. They stay as they are once the engine is up. */
const hearth_segment *hearth_segments(size_t *count);
/* The exported or local variable at an address, or NULL. */
const hearth_symbol *hearth_variable_at(hearth_library *library, uintptr_t address);
/*
 * Of memory without a name: where the variable begins that code refers to, and the functions that do, such as
 * "crypt(), php_crypt"; empty when nothing refers to it. `text` is filled with the names.
 */
uintptr_t hearth_static_at(hearth_library *library, uintptr_t address, char *text, size_t size);

/* state_code.c */
void hearth_read_symbols(hearth_library *library);

#endif
