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
	hearth_symbol *references;       /* from code to variables without a name, by address: which function refers there */
	size_t reference_count;
} hearth_prelude;

/* Writable memory of a library; what the loader makes read-only after relocation is no part of it. */
typedef struct {
	hearth_prelude *library;
	uintptr_t start;
	size_t size;
	bool of_thread;                  /* what the library has once for each thread */
} hearth_segment;

/* The name of what the loader fills at the first call of each function of another library. */
#define HEARTH_BOUND_FUNCTIONS "(functions of other libraries)"

/* The segments of libphp and of every extension that is loaded. They stay as they are once the engine is up. */
const hearth_segment *hearth_segments(size_t *count);
/* The exported or local variable at an address, or NULL. */
const hearth_symbol *hearth_variable_at(hearth_prelude *library, uintptr_t address);
/* A variable without a name: from where code refers to it, up to the next that is known. */
typedef struct { uintptr_t start, end; } hearth_static;

/* The one at an address; `text` is filled with the functions that refer to it, such as "crypt(), php_crypt", or empty. */
hearth_static hearth_static_at(hearth_prelude *library, uintptr_t address, char *text, size_t size);

/* state/code.c */
void hearth_read_symbols(hearth_prelude *library);
/* Before handlers of functions are replaced: where the code of each is. */
void hearth_note_functions(void);
/* library->references, read. */
const hearth_symbol *hearth_references(hearth_prelude *library);

#endif
