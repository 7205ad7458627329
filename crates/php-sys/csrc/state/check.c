/* Snapshots of the writable memory of libphp and the extensions, and of the process's settings; compares them with now. */
#include "compat.h"
#include "state/check.h"
#include "task/task.h"

/* The most bytes that are compared behind a pointer. */
#define HEARTH_CONTENT 2048

/* Memory of the engine's heap, or of malloc()'s, that a variable points to. */
typedef struct { uintptr_t from; const void *block; size_t size; size_t at; } pointed;

struct hearth_snapshot {
	char *bytes;                     /* all segments, one after another */
	pointed *blocks;
	size_t block_count, block_capacity;
	char *contents;
	size_t content_size, content_capacity;
	hearth_table_snapshot *tables;
	HashTable process;
};

/* ---- taking ---- */

/* Returns the start of malloc()'s memory; memory of other threads and large blocks are not examined. */
static uintptr_t heap_start(void)
{
	static uintptr_t start;
	char line[512];
	FILE *maps;

	if (start || !(maps = fopen("/proc/self/maps", "re"))) {
		return start;
	}
	while (fgets(line, sizeof line, maps)) {
		/* The heap may be several mappings, one after another. */
		if (!start && strstr(line, "[heap]")) {
			start = (uintptr_t) strtoull(line, NULL, 16);
		}
	}
	fclose(maps);
	return start;
}

/* Returns the readable bytes of a malloc() block, if `pointer` is one: its size is before it, the next block behind it. */
static size_t readable_of_process(uintptr_t pointer)
{
	uintptr_t start = heap_start(), end = (uintptr_t) sbrk(0);
	size_t size, next;

	if (!start || (pointer & 15) || pointer < start + 16 || pointer + 32 > end) {
		return 0;
	}
	size = ((const size_t *) pointer)[-1] & ~(size_t) 7;
	if (size < 32 || (size & 15) || size > end - pointer) {
		return 0;
	}
	next = *(const size_t *) (pointer + size - 8);
	return (next & 1) && (next & ~(size_t) 7) >= 32 ? size - 8 : 0;
}

/* Returns the bytes of the engine's heap that can be read from `pointer` on; 0 if it points elsewhere. */
static size_t readable_of_engine(const void *pointer)
{
	size_t in_chunk = ZEND_MM_CHUNK_SIZE - ((uintptr_t) pointer & (ZEND_MM_CHUNK_SIZE - 1)), size;

	if (((uintptr_t) pointer & 7) || in_chunk == ZEND_MM_CHUNK_SIZE || in_chunk > ZEND_MM_CHUNK_SIZE - ZEND_MM_PAGE_SIZE
			|| !is_zend_ptr(pointer)) {
		return 0;
	}
	size = zend_mem_block_size((void *) pointer);
	return size > in_chunk ? in_chunk : size;
}

static size_t readable_from(const void *pointer)
{
	size_t size = readable_of_process((uintptr_t) pointer);

	size = size ? size : readable_of_engine(pointer);
	return size > HEARTH_CONTENT ? HEARTH_CONTENT : size;
}

/* Whether the block is the loader's record of a library, which changes as functions are resolved. */
static bool is_of_loader(const void *block)
{
	zend_module_entry *module;

	ZEND_HASH_FOREACH_PTR(&module_registry, module) {
		if (module->handle == block) {
			return true;
		}
	} ZEND_HASH_FOREACH_END();
	return false;
}

static void keep_content(hearth_snapshot *snapshot, uintptr_t from, const void *block)
{
	size_t size = readable_from(block);

	if (!size || is_of_loader(block)) {
		return;
	}
	if (snapshot->block_count == snapshot->block_capacity) {
		snapshot->block_capacity = snapshot->block_capacity ? snapshot->block_capacity * 2 : 256;
		snapshot->blocks = perealloc(snapshot->blocks, snapshot->block_capacity * sizeof *snapshot->blocks, 1);
	}
	if (snapshot->content_size + size > snapshot->content_capacity) {
		snapshot->content_capacity = (snapshot->content_size + size) * 2;
		snapshot->contents = perealloc(snapshot->contents, snapshot->content_capacity, 1);
	}
	memcpy(snapshot->contents + snapshot->content_size, block, size);
	snapshot->blocks[snapshot->block_count++] = (pointed){from, block, size, snapshot->content_size};
	snapshot->content_size += size;
}

static void keep_contents_of(hearth_snapshot *snapshot, const hearth_segment *segment)
{
	for (uintptr_t at = (segment->start + 7) & ~(uintptr_t) 7; at + sizeof(void *) <= segment->start + segment->size; at += sizeof(void *)) {
		const void *word = *(const void *const *) at;

		if ((uintptr_t) word > 65536) {
			keep_content(snapshot, at, word);
		}
	}
}

hearth_snapshot *hearth_snapshot_take(void)
{
	hearth_snapshot *snapshot = pecalloc(1, sizeof *snapshot, 1);
	size_t count, total = 0, at = 0;
	const hearth_segment *segments = hearth_segments(&count);

	for (size_t i = 0; i < count; i++) {
		total += segments[i].size;
	}
	snapshot->bytes = pemalloc(total, 1);
	for (size_t i = 0; i < count; i++) {
		keep_contents_of(snapshot, &segments[i]);
	}
	snapshot->tables = hearth_tables_take();
	hearth_process_take(&snapshot->process);
	for (size_t i = 0; i < count; at += segments[i++].size) {
		memcpy(snapshot->bytes + at, (const void *) segments[i].start, segments[i].size);
	}
	return snapshot;
}

void hearth_snapshot_free(hearth_snapshot *snapshot)
{
	hearth_tables_free(snapshot->tables);
	zend_hash_destroy(&snapshot->process);
	pefree(snapshot->bytes, 1);
	if (snapshot->blocks) { pefree(snapshot->blocks, 1); }
	if (snapshot->contents) { pefree(snapshot->contents, 1); }
	pefree(snapshot, 1);
}

/* ---- comparing ---- */

/* One variable in which some words differ. */
typedef struct {
	hearth_prelude *library;
	const char *name, *kind;
	uintptr_t start, end;            /* of the variable */
	uintptr_t first;                 /* the first word that differs */
	uint64_t before, after;
	size_t words;
	const hearth_state_row *row;
	bool accepted, is_static;
	char text[512];
} finding;

typedef struct {
	hearth_state_listener report;
	void *context;
	finding now;
} comparison;

/* Returns the narrowest row: a field rather than the whole globals of its module. */
static const hearth_state_row *narrowest(const hearth_state_row *found, const hearth_state_row *rows, size_t count, uintptr_t address)
{
	for (size_t i = 0; i < count; i++) {
		if (address - (uintptr_t) rows[i].address < rows[i].size && (!found || rows[i].size < found->size)) {
			found = &rows[i];
		}
	}
	return found;
}

static const hearth_state_row *row_at(uintptr_t address)
{
	size_t count, statics;
	const hearth_state_row *rows = hearth_state_rows(&count), *others = hearth_static_rows(&statics);

	return narrowest(narrowest(NULL, rows, count, address), others, statics, address);
}

/* Whether both values are pointers or times: those may differ between requests, as where a request lies or when it began. */
static bool are_addresses_or_times(uint64_t before, uint64_t after)
{
	return before > UINT32_MAX && after > UINT32_MAX;
}

static bool is_accepted(const hearth_state_row *row, uint64_t before, uint64_t after)
{
	if (!row) {
		return false;
	}
	switch (row->treatment) {
		case HEARTH_STATE_KEPT:
			return true;
		case HEARTH_STATE_TASK:
		case HEARTH_STATE_REQUEST:
			return are_addresses_or_times(before, after);
		default:
			return false;
	}
}

static void flush(comparison *compare)
{
	finding *now = &compare->now;
	char before[32], after[32];
	hearth_state_change change;

	if (!now->words) {
		return;
	}
	snprintf(before, sizeof before, "%#" PRIx64, now->before);
	snprintf(after, sizeof after, "%#" PRIx64, now->after);
	change = (hearth_state_change){
		.object = now->library->name, .name = now->name, .kind = now->kind, .offset = now->first - now->start, .words = now->words,
		.before = before, .after = after, .row = now->row, .accepted = now->accepted,
	};
	compare->report(compare->context, &change);
	now->words = 0;
}

static bool is_of_thread(uintptr_t address)
{
	size_t count;
	const hearth_segment *segments = hearth_segments(&count);

	for (size_t i = 0; i < count; i++) {
		if (segments[i].of_thread && address - segments[i].start < segments[i].size) {
			return true;
		}
	}
	return false;
}

static void name_static(finding *now, uintptr_t address)
{
	hearth_static found = hearth_static_at(now->library, address, now->text, sizeof now->text);

	now->kind = "static";
	now->is_static = true;
	now->name = *now->text ? now->text : is_of_thread(address) ? "of the thread" : "no code refers to it";
	now->start = found.start;
	now->end = found.end;
}

static void name_variable(finding *now, uintptr_t address)
{
	const hearth_symbol *symbol;

	now->row = row_at(address);
	now->is_static = false;
	if (now->row) {
		now->kind = "row";
		now->name = now->row->name;
		now->start = (uintptr_t) now->row->address;
		now->end = now->start + now->row->size;
	} else if ((symbol = hearth_variable_at(now->library, address))) {
		now->kind = "symbol";
		now->name = symbol->name;
		now->start = symbol->address;
		now->end = symbol->address + symbol->size;
	} else {
		name_static(now, address);
	}
}

/* Whether the word belongs to the current finding: any word of an unnamed table, in others only an adjacent word. */
static bool belongs(const finding *now, uintptr_t address, bool accepted)
{
	return now->words && address < now->end && accepted == now->accepted && row_at(address) == now->row
		&& (now->is_static || (address & ~(uintptr_t) 7) == (now->first & ~(uintptr_t) 7) + now->words * 8);
}

/* Returns the address of the first byte that differs: a row may begin in the middle of a word. */
static uintptr_t first_byte(uintptr_t address, uint64_t before, uint64_t after)
{
	return address + (uintptr_t) __builtin_ctzll(before ^ after) / 8;
}

static void differs(comparison *compare, hearth_prelude *library, uintptr_t word, uint64_t before, uint64_t after)
{
	uintptr_t address = first_byte(word, before, after);
	finding *now = &compare->now;
	bool accepted = is_accepted(row_at(address), before, after);

	if (belongs(now, address, accepted)) {
		now->words++;
		return;
	}
	flush(compare);
	now->library = library;
	name_variable(now, address);
	now->first = word < now->start ? now->start : word;
	now->before = before;
	now->after = after;
	now->accepted = accepted;
	now->words = 1;
}

static void compare_segment(comparison *compare, const hearth_segment *segment, const char *bytes)
{
	uintptr_t first = (segment->start + 7) & ~(uintptr_t) 7;

	for (uintptr_t at = first; at + 8 <= segment->start + segment->size; at += 8) {
		uint64_t before;

		memcpy(&before, bytes + (at - segment->start), sizeof before);
		if (UNEXPECTED(before != *(const uint64_t *) at) && !hearth_kept_is_handler(*(const uint64_t *) at)) {
			differs(compare, segment->library, at, before, *(const uint64_t *) at);
		}
	}
	flush(compare);
}

/*
 * Compares half a word of content, without the parts that change in every counted value: the reference count, and behind the
 * type the bits of the garbage collector.
 */
static bool half_differs(const char *then, const char *now, size_t at)
{
	uint32_t before, after;

	memcpy(&before, then + at, sizeof before);
	memcpy(&after, now + at, sizeof after);
	return ((before ^ after) & (at == 4 ? (UINT32_C(1) << GC_INFO_SHIFT) - 1 : UINT32_MAX)) != 0;
}

static bool content_is_accepted(const hearth_state_row *row)
{
	return row && row->treatment != HEARTH_STATE_UNTREATED && row->treatment != HEARTH_STATE_RESTORED && row->treatment != HEARTH_STATE_RESET;
}

/* Compares the memory that the same pointer points to. */
static void compare_content(comparison *compare, const pointed *block, const char *contents, hearth_prelude *library)
{
	const hearth_state_row *row = row_at(block->from);
	hearth_state_change change = {.object = library->name, .kind = "content", .row = row, .accepted = content_is_accepted(row)};
	const char *then = contents + block->at, *now = block->block;
	char before[32], after[32];
	finding named = {.library = library};

	if (*(const void *const *) block->from != block->block || readable_from(block->block) != block->size) {
		return;
	}
	for (size_t at = 4; at + 4 <= block->size; at += 4) {
		if (half_differs(then, now, at) && !change.words++) {
			change.offset = at;
		}
	}
	if (!change.words) {
		return;
	}
	name_variable(&named, block->from);
	snprintf(before, sizeof before, "%#x", *(const uint32_t *) (then + change.offset));
	snprintf(after, sizeof after, "%#x", *(const uint32_t *) (now + change.offset));
	change.name = named.name;
	change.from = block->from - named.start;
	change.before = before;
	change.after = after;
	compare->report(compare->context, &change);
}

void hearth_snapshot_compare(const hearth_snapshot *before, hearth_state_listener report, void *context)
{
	comparison compare = {.report = report, .context = context};
	size_t count, at = 0, block = 0;
	const hearth_segment *segments = hearth_segments(&count);

	for (size_t i = 0; i < count; at += segments[i++].size) {
		compare_segment(&compare, &segments[i], before->bytes + at);
		while (block < before->block_count && before->blocks[block].from - segments[i].start < segments[i].size) {
			compare_content(&compare, &before->blocks[block++], before->contents, segments[i].library);
		}
	}
	hearth_tables_compare(before->tables, report, context);
	hearth_process_compare(&before->process, report, context);
}
