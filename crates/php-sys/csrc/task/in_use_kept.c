/*
 * Objects of a connection in use that lose their last owner, or that the collector of cycles finds. An extension frees such an object
 * without a call: it would close the connection, or ask the server, in the middle of the conversation of the call that waits. So the
 * object is kept until no call uses the connection; a mysqli or PgSql\Connection, which its statements, results and large objects do not
 * own, also until they are gone. Its __destruct() does not wait: it is called where the object is dropped.
 *
 * The destructor handler of the object's class tells when. The engine and the collector leave an object alone that has an owner again
 * when the handler returns.
 */
#include "engine/intercept.h"
#include "task/task.h"

#include <link.h>

typedef zend_object *(*maker)(zend_class_entry *ce);

static zend_object **kept;
static uint32_t room;
uint32_t hearth_kept;

/* The functions that make objects, by class, and the destructor handlers, by table of handlers. */
static HashTable makers, destructors;

/* ---- the list ---- */

static void keep(zend_object *object)
{
	if (UNEXPECTED(hearth_kept == room)) {
		room = room ? room * 2 : 8;
		kept = perealloc(kept, room * sizeof *kept, 1);
	}
	GC_ADDREF(object);
	kept[hearth_kept++] = object;
}

static bool is_in(const hearth_use_list *list, const void *what)
{
	for (uint32_t i = 0; i < list->count; i++) {
		if (list->used[i].what == what) {
			return true;
		}
	}
	return false;
}

/* Removes the first object from the list that neither a waiting task nor those calls use; NULL if there is none. */
static zend_object *take_unused(const hearth_use_list *calls)
{
	for (uint32_t i = 0; i < hearth_kept; i++) {
		zend_object *object = kept[i];
		const void *what = hearth_connection_of_object(object);

		if (!hearth_use_any(what) && !is_in(calls, what) && !hearth_connection_has_children(object)) {
			hearth_kept--;
			memmove(&kept[i], &kept[i + 1], (hearth_kept - i) * sizeof *kept);
			return object;
		}
	}
	return NULL;
}

void hearth_kept_release(const zend_execute_data *from)
{
	hearth_use_list calls = {0};
	zend_object *object;

	/* The calls that the task below is in are not known. */
	if (!hearth_current || hearth_current->outer) {
		return;
	}
	hearth_use_list_calls(&calls, from, NULL);
	while ((object = take_unused(&calls))) {
		OBJ_RELEASE(object);
	}
	if (calls.used) {
		pefree(calls.used, 1);
	}
}

void hearth_kept_forget(void)
{
	if (kept) {
		pefree(kept, 1);
	}
	kept = NULL;
	hearth_kept = room = 0;
}

/* ---- the handler ---- */

typedef void (*destructor)(zend_object *object);

static destructor original_of(const zend_object *object)
{
	union { void *found; destructor function; } of_class = {
		.found = zend_hash_index_find_ptr(&destructors, (zend_ulong) (uintptr_t) object->handlers),
	};

	/* An extension may have copied a table that was watched already. */
	return of_class.found ? of_class.function : zend_objects_destroy_object;
}

static void on_dtor(zend_object *object)
{
	destructor original = original_of(object);

	original(object);
	if (EXPECTED(hearth_uses == 0) || !hearth_use_any(hearth_connection_of_object(object))) {
		return;
	}
	/* Without a destructor of its own, whether it may be freed is asked again; a __destruct() is called once. */
	if (!object->ce->destructor && original == zend_objects_destroy_object) {
		GC_DEL_FLAGS(object, IS_OBJ_DESTRUCTOR_CALLED);
	}
	keep(object);
}

bool hearth_kept_is_handler(uint64_t word)
{
	return word == (uintptr_t) on_dtor || hearth_elements_is_handler(word);
}

/* Whether no part of a library that is only read holds the address; `data` is set to that. */
static int find_read_only(struct dl_phdr_info *library, size_t size, void *data)
{
	const void **address = data;

	(void) size;
	for (int i = 0; i < library->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &library->dlpi_phdr[i];
		bool only_read = part->p_type == PT_GNU_RELRO || (part->p_type == PT_LOAD && !(part->p_flags & PF_W));

		if (only_read && (uintptr_t) *address - (library->dlpi_addr + part->p_vaddr) < part->p_memsz) {
			*address = NULL;
			return 1;
		}
	}
	return 0;
}

static bool is_writable(const void *address)
{
	dl_iterate_phdr(find_read_only, &address);
	return address != NULL;
}

static void watch(const zend_object_handlers *handlers)
{
	union { destructor function; void *noted; } of_class = {.function = handlers->dtor_obj};

	if (EXPECTED(handlers->dtor_obj == on_dtor) || handlers == zend_get_std_object_handlers()
			|| !zend_hash_index_add_ptr(&destructors, (zend_ulong) (uintptr_t) handlers, of_class.noted)) {
		return;
	}
	if (is_writable(handlers)) {
		((zend_object_handlers *) handlers)->dtor_obj = on_dtor;
		hearth_elements_watch((zend_object_handlers *) handlers);
	}
}

/* ---- setup ---- */

/* Called when objects can be made. mysqli makes its connections without the function that the class names for that. */
void hearth_kept_begin(void)
{
	zend_class_entry *mysqli = zend_hash_str_find_ptr(CG(class_table), ZEND_STRL("mysqli"));
	zval object;

	if (mysqli && object_init_ex(&object, mysqli) == SUCCESS) {
		zval_ptr_dtor(&object);
	}
}

static maker maker_of(const zend_class_entry *ce)
{
	union { void *found; maker function; } of_class = {.found = NULL};

	while (ce && !(of_class.found = zend_hash_index_find_ptr(&makers, (zend_ulong) (uintptr_t) ce))) {
		ce = ce->parent;
	}
	return of_class.function;
}

/* The table of a class is known with its first object. */
static zend_object *make(zend_class_entry *ce)
{
	zend_object *object = maker_of(ce)(ce);

	watch(object->handlers);
	return object;
}

static bool makes(const zend_class_entry *ce)
{
	return !(ce->ce_flags & (ZEND_ACC_INTERFACE | ZEND_ACC_TRAIT)) && ce->create_object;
}

static void note(const zend_class_entry *ce)
{
	union { maker function; void *noted; } of_class = {.function = ce->create_object};

	if (makes(ce) && hearth_waits_in_its_calls(ce)) {
		zend_hash_index_add_new_ptr(&makers, (zend_ulong) (uintptr_t) ce, of_class.noted);
	}
}

static void replace(zend_class_entry *ce)
{
	const zend_class_entry *internal = ce;

	while (internal->type == ZEND_USER_CLASS && (ce->ce_flags & ZEND_ACC_LINKED) && internal->parent) {
		internal = internal->parent;
	}
	if (internal->type == ZEND_INTERNAL_CLASS && makes(ce) && ce->create_object == maker_of(internal)) {
		ce->create_object = make;
	}
}

void hearth_kept_watch(void)
{
	zend_class_entry *ce;

	zend_hash_init(&makers, 64, NULL, NULL, 1);
	zend_hash_init(&destructors, 16, NULL, NULL, 1);
	hearth_elements_begin();
	ZEND_HASH_FOREACH_PTR(CG(class_table), ce) {
		note(ce);
	} ZEND_HASH_FOREACH_END();
	ZEND_HASH_FOREACH_PTR(CG(class_table), ce) {
		replace(ce);
	} ZEND_HASH_FOREACH_END();
}
