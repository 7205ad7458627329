/* The memory that libraries write: the segments of libphp and of every extension, and the names in them. */
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
	const char *name;                /* name of the file, without its folder */
	const char *path;
	uintptr_t base;
	uintptr_t text;                  /* address of its code */
	size_t text_size;
	bool has_symbols;                /* `variables` and `functions` have been read */
	hearth_symbol *variables;        /* by address */
	size_t variable_count;
	hearth_symbol *functions;        /* by address */
	size_t function_count;
	hearth_symbol *references;       /* from code to unnamed variables, by address: the function that refers there */
	size_t reference_count;
} hearth_prelude;

/* Writable memory of a library, without what the loader makes read-only after relocation. */
typedef struct {
	hearth_prelude *library;
	uintptr_t start;
	size_t size;
	bool of_thread;                  /* thread-local memory */
} hearth_segment;

/* The name for the table that the loader fills at the first call of each function of another library. */
#define HEARTH_BOUND_FUNCTIONS "(functions of other libraries)"

/* Returns the segments of libphp and of every loaded extension. They do not change once the engine is up. */
const hearth_segment *hearth_segments(size_t *count);
/* Returns the exported or local variable at an address, or NULL. */
const hearth_symbol *hearth_variable_at(hearth_prelude *library, uintptr_t address);
/* An unnamed variable: from the address that code refers to, up to the next known one. */
typedef struct { uintptr_t start, end; } hearth_static;

/* Returns the one at an address; fills `text` with the functions that refer to it, such as "crypt(), php_crypt", or "". */
hearth_static hearth_static_at(hearth_prelude *library, uintptr_t address, char *text, size_t size);

/* state/code.c */
void hearth_read_symbols(hearth_prelude *library);
/* Called before handlers of functions are replaced: notes the address of each function's code. */
void hearth_note_functions(void);
/* Returns library->references, and reads them first if need be. */
const hearth_symbol *hearth_references(hearth_prelude *library);

#endif
