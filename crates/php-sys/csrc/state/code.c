/*
 * Names for memory: a library's symbols, and for its unnamed variables the functions that refer to them.
 *
 * Debian's libphp exports few of its variables and has no other symbols. More of its functions are known: those that it
 * exports, and those that PHP code calls, from the engine's own tables. Code refers to a variable by its distance, so a
 * scan of the code finds which functions use which variable, in any release.
 */
#include "compat.h"
#include "state/map.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct { hearth_symbol *list; size_t count, capacity; } symbols;

static void add(symbols *to, uintptr_t address, size_t size, const char *name)
{
	if (to->count == to->capacity) {
		to->capacity = to->capacity ? to->capacity * 2 : 256;
		to->list = perealloc(to->list, to->capacity * sizeof *to->list, 1);
	}
	to->list[to->count++] = (hearth_symbol){address, size, name};
}

static int by_address(const void *a, const void *b)
{
	const hearth_symbol *one = a, *other = b;

	return one->address < other->address ? -1 : one->address > other->address;
}

static void sort(symbols *what)
{
	if (what->count) {
		qsort(what->list, what->count, sizeof *what->list, by_address);
	}
}

/* ---- the file's own symbols ---- */

static void read_table(const char *file, const ElfW(Shdr) *table, const char *names, uintptr_t base, symbols *variables, symbols *functions)
{
	const ElfW(Sym) *symbol = (const ElfW(Sym) *) (file + table->sh_offset);

	for (size_t n = table->sh_size / sizeof *symbol; n > 0; n--, symbol++) {
		int type = ELF64_ST_TYPE(symbol->st_info);

		if (symbol->st_shndx == SHN_UNDEF) {
			continue;
		}
		if (type == STT_OBJECT && symbol->st_size) {
			add(variables, base + symbol->st_value, symbol->st_size, strdup(names + symbol->st_name));
		} else if (type == STT_FUNC) {
			add(functions, base + symbol->st_value, symbol->st_size, strdup(names + symbol->st_name));
		}
	}
}

static void read_tables(const char *file, uintptr_t base, symbols *variables, symbols *functions)
{
	const ElfW(Ehdr) *head = (const ElfW(Ehdr) *) file;
	const ElfW(Shdr) *sections = (const ElfW(Shdr) *) (file + head->e_shoff);
	const char *names = file + sections[head->e_shstrndx].sh_offset;

	for (int i = 0; i < head->e_shnum; i++) {
		if (strcmp(names + sections[i].sh_name, ".got.plt") == 0) {
			add(variables, base + sections[i].sh_addr, sections[i].sh_size, HEARTH_BOUND_FUNCTIONS);
		}
		if (sections[i].sh_type == SHT_DYNSYM || sections[i].sh_type == SHT_SYMTAB) {
			read_table(file, &sections[i], file + sections[sections[i].sh_link].sh_offset, base, variables, functions);
		}
	}
}

static void read_file(const hearth_prelude *library, symbols *variables, symbols *functions)
{
	int descriptor = open(library->path, O_RDONLY | O_CLOEXEC);
	struct stat status;
	void *file;

	if (descriptor < 0) {
		return;
	}
	if (fstat(descriptor, &status) == 0 && (size_t) status.st_size > sizeof(ElfW(Ehdr))) {
		file = mmap(NULL, (size_t) status.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
		if (file != MAP_FAILED) {
			read_tables(file, library->base, variables, functions);
			munmap(file, (size_t) status.st_size);
		}
	}
	close(descriptor);
}

/* ---- functions that the engine knows ---- */

static bool is_code_of(const hearth_prelude *library, uintptr_t address)
{
	return address - library->text < library->text_size;
}

static void add_internal(const hearth_prelude *library, symbols *to, HashTable *functions, const char *owner)
{
	zend_function *function;

	ZEND_HASH_FOREACH_PTR(functions, function) {
		char name[256];

		if (function->type != ZEND_INTERNAL_FUNCTION
				|| (library && !is_code_of(library, (uintptr_t) function->internal_function.handler))) {
			continue;
		}
		snprintf(name, sizeof name, "%s%s%s()", owner, *owner ? "::" : "", ZSTR_VAL(function->common.function_name));
		add(to, (uintptr_t) function->internal_function.handler, 0, strdup(name));
	} ZEND_HASH_FOREACH_END();
}

static void add_entry(const hearth_prelude *library, symbols *to, uintptr_t address, const char *module, const char *what)
{
	char name[128];

	if (address && is_code_of(library, address)) {
		snprintf(name, sizeof name, "%s of %s", what, module);
		add(to, address, 0, strdup(name));
	}
}

static void add_functions(const hearth_prelude *library, symbols *to)
{
	zend_class_entry *ce;

	add_internal(library, to, CG(function_table), "");
	ZEND_HASH_FOREACH_PTR(CG(class_table), ce) {
		add_internal(library, to, &ce->function_table, ZSTR_VAL(ce->name));
	} ZEND_HASH_FOREACH_END();
}

/* Functions of all libraries. */
static symbols noted;

void hearth_note_functions(void)
{
	add_functions(NULL, &noted);
}

static void add_known_to_engine(const hearth_prelude *library, symbols *to)
{
	zend_module_entry *module;
	zend_ini_entry *ini;

	for (size_t i = 0; i < noted.count; i++) {
		if (is_code_of(library, noted.list[i].address)) {
			add(to, noted.list[i].address, 0, noted.list[i].name);
		}
	}
	add_functions(library, to);
	ZEND_HASH_FOREACH_PTR(&module_registry, module) {
		add_entry(library, to, (uintptr_t) module->module_startup_func, module->name, "MINIT");
		add_entry(library, to, (uintptr_t) module->module_shutdown_func, module->name, "MSHUTDOWN");
		add_entry(library, to, (uintptr_t) module->request_startup_func, module->name, "RINIT");
		add_entry(library, to, (uintptr_t) module->request_shutdown_func, module->name, "RSHUTDOWN");
		add_entry(library, to, (uintptr_t) module->info_func, module->name, "MINFO");
		add_entry(library, to, (uintptr_t) module->post_deactivate_func, module->name, "post-deactivate");
	} ZEND_HASH_FOREACH_END();
	ZEND_HASH_FOREACH_PTR(EG(ini_directives), ini) {
		add_entry(library, to, (uintptr_t) ini->on_modify, ZSTR_VAL(ini->name), "on_modify");
	} ZEND_HASH_FOREACH_END();
}

void hearth_read_symbols(hearth_prelude *library)
{
	symbols variables = {0}, functions = {0};

	if (library->has_symbols) {
		return;
	}
	library->has_symbols = true;
	read_file(library, &variables, &functions);
	add_known_to_engine(library, &functions);
	sort(&variables);
	sort(&functions);
	library->variables = variables.list;
	library->variable_count = variables.count;
	library->functions = functions.list;
	library->function_count = functions.count;
}

/* ---- references ---- */

/*
 * A PC-relative operand is 32 bits, counted from the instruction's end, which an immediate of up to 4 bytes may follow. Code
 * is not decoded: bytes that look like an operand by chance name an unnamed variable wrongly once in a thousand libraries.
 */
static const int behind_operand[] = {4, 5, 6, 8};

static uintptr_t target_at(uintptr_t place, int behind)
{
	int32_t distance;

	memcpy(&distance, (const void *) place, sizeof distance);
	return place + (uintptr_t) behind + (uintptr_t) (intptr_t) distance;
}

/* Whether the byte before the operand is the addressing mode of x86-64 without a register, which means PC-relative. */
static bool is_operand(uintptr_t place)
{
	return (*(const unsigned char *) (place - 1) & 0xc7) == 0x05;
}

/* Returns the last element of a sorted list at or before the address, or NULL. */
static const hearth_symbol *last_before(const hearth_symbol *list, size_t count, uintptr_t address)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (list[middle].address <= address) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low ? &list[low - 1] : NULL;
}

/* Returns the end of the writable segment of that address; 0 if there is none. */
static uintptr_t end_of_segment(const hearth_prelude *library, uintptr_t address)
{
	size_t count;
	const hearth_segment *segments = hearth_segments(&count);

	for (size_t i = 0; i < count; i++) {
		if (segments[i].library == library && address - segments[i].start < segments[i].size) {
			return segments[i].start + segments[i].size;
		}
	}
	return 0;
}

/* Returns the function at a place in the code; behind an exported function, whose end is known, there may be others. */
static const char *function_at(const hearth_prelude *library, uintptr_t place)
{
	const hearth_symbol *function = last_before(library->functions, library->function_count, place);
	char name[300];

	if (!function) {
		return "the first function";
	}
	if (!function->size || place < function->address + function->size) {
		return function->name;
	}
	snprintf(name, sizeof name, "one behind %s", function->name);
	return strdup(name);
}

static void add_reference(const hearth_prelude *library, symbols *to, uintptr_t place, uintptr_t target)
{
	if (end_of_segment(library, target) && !hearth_variable_at((hearth_prelude *) library, target)) {
		add(to, target, 0, function_at(library, place));
	}
}

const hearth_symbol *hearth_references(hearth_prelude *library)
{
	symbols found = {0};
	uintptr_t end = library->text + library->text_size;

	if (library->references) {
		return library->references;
	}
	hearth_read_symbols(library);
	for (uintptr_t place = library->text + 1; place + 8 < end; place++) {
		for (size_t i = 0; i < sizeof behind_operand / sizeof *behind_operand && is_operand(place); i++) {
			add_reference(library, &found, place, target_at(place, behind_operand[i]));
		}
	}
	add(&found, UINTPTR_MAX, 0, "");
	sort(&found);
	library->references = found.list;
	library->reference_count = found.count;
	return library->references;
}

static void add_name(char *text, size_t size, const char *name)
{
	size_t length = strlen(text);

	if (strstr(text, name) || length + strlen(name) + 3 > size) {
		return;
	}
	snprintf(text + length, size - length, "%s%s", length ? ", " : "", name);
}

hearth_static hearth_static_at(hearth_prelude *library, uintptr_t address, char *text, size_t size)
{
	const hearth_symbol *reference, *next, *named, *next_named;
	hearth_static found = {address, end_of_segment(library, address)};

	text[0] = '\0';
	hearth_references(library);
	reference = last_before(library->references, library->reference_count, address);
	named = last_before(library->variables, library->variable_count, address);
	next = reference ? reference + 1 : library->references;
	next_named = named ? named + 1 : library->variables;
	if (next_named < library->variables + library->variable_count && next_named->address < next->address) {
		found.end = next_named->address;
	} else if (next->address != UINTPTR_MAX) {
		found.end = next->address;
	}
	if (!reference || (named && named->address > reference->address)) {
		return found;
	}
	found.start = reference->address;
	for (; reference >= library->references && reference->address == found.start; reference--) {
		add_name(text, size, reference->name);
	}
	return found;
}
