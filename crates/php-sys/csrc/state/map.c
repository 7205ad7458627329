/* Finds the writable segments of libphp and of the extensions, by the modules that the engine knows. */
#include "compat.h"
#include "state/map.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

static hearth_prelude *libraries;
static size_t library_count;
static hearth_segment *segments;
static size_t segment_count;

static bool is_known(uintptr_t base)
{
	for (size_t i = 0; i < library_count; i++) {
		if (libraries[i].base == base) {
			return true;
		}
	}
	return false;
}

/* Adds the library that contains `inside`, once; not this program, whose own memory is not checked. */
static void add_library_of(const void *inside)
{
	static Dl_info own;
	const char *slash;
	Dl_info info;

	if (!own.dli_fbase) {
		dladdr((const void *) &add_library_of, &own);
	}
	if (!inside || !dladdr(inside, &info) || info.dli_fbase == own.dli_fbase || is_known((uintptr_t) info.dli_fbase)) {
		return;
	}
	libraries = perealloc(libraries, (library_count + 1) * sizeof *libraries, 1);
	slash = strrchr(info.dli_fname, '/');
	libraries[library_count++] = (hearth_prelude){
		.name = slash ? slash + 1 : info.dli_fname, .path = info.dli_fname, .base = (uintptr_t) info.dli_fbase,
	};
}

static void add_extension(void *extension)
{
	add_library_of((const void *) ((zend_extension *) extension)->startup);
}

static void find_libraries(void)
{
	zend_module_entry *module;

	add_library_of(&executor_globals);
	ZEND_HASH_FOREACH_PTR(&module_registry, module) {
		add_library_of(module);
	} ZEND_HASH_FOREACH_END();
	zend_llist_apply(&zend_extensions, add_extension);
}

static void add_segment(hearth_prelude *library, uintptr_t start, uintptr_t end, bool of_thread)
{
	if (start >= end) {
		return;
	}
	segments = perealloc(segments, (segment_count + 1) * sizeof *segments, 1);
	segments[segment_count++] = (hearth_segment){.library = library, .start = start, .size = end - start, .of_thread = of_thread};
}

/* Returns the end of the part that the loader made read-only, at the beginning of the writable segment. */
static uintptr_t end_of_relro(const struct dl_phdr_info *info)
{
	uintptr_t page = (uintptr_t) sysconf(_SC_PAGESIZE);

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];

		if (part->p_type == PT_GNU_RELRO) {
			return (info->dlpi_addr + part->p_vaddr + part->p_memsz) & ~(page - 1);
		}
	}
	return 0;
}

static int read_headers(struct dl_phdr_info *info, size_t size, void *context)
{
	hearth_prelude *library = NULL;
	uintptr_t sealed = end_of_relro(info);

	(void) size; (void) context;
	for (size_t i = 0; i < library_count; i++) {
		if (libraries[i].base == info->dlpi_addr) {
			library = &libraries[i];
		}
	}
	for (int i = 0; library && i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + part->p_vaddr;

		if (part->p_type == PT_LOAD && (part->p_flags & PF_X)) {
			library->text = start;
			library->text_size = part->p_memsz;
		}
		if (part->p_type == PT_LOAD && (part->p_flags & PF_W)) {
			add_segment(library, start < sealed ? sealed : start, start + part->p_memsz, false);
		}
		if (part->p_type == PT_TLS && info->dlpi_tls_data) {
			add_segment(library, (uintptr_t) info->dlpi_tls_data, (uintptr_t) info->dlpi_tls_data + part->p_memsz, true);
		}
	}
	return 0;
}

const hearth_segment *hearth_segments(size_t *count)
{
	if (!segments) {
		find_libraries();
		dl_iterate_phdr(read_headers, NULL);
	}
	*count = segment_count;
	return segments;
}

const hearth_symbol *hearth_variable_at(hearth_prelude *library, uintptr_t address)
{
	size_t low = 0, high;

	hearth_read_symbols(library);
	high = library->variable_count;
	while (low < high) {
		size_t middle = (low + high) / 2;

		if (library->variables[middle].address <= address) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	/* Symbols may share an address, such as an alias of size 0 with a variable. */
	for (size_t i = low; i > 0 && i + 4 > low; i--) {
		const hearth_symbol *one = &library->variables[i - 1];

		if (address < one->address + one->size) {
			return one;
		}
	}
	return NULL;
}
