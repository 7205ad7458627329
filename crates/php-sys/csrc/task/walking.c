/*
 * C code of PHP in whose middle a task is not left because it walks a value: an array, the properties of an object, a heap, bound variables. It keeps pointers
 * into the value while it calls PHP code: `__serialize()`, the `__toString()` of an element, a comparison, an error handler. In `php` only that code itself could
 * change the value meanwhile; here another request could, where the value is in a static property or in an object that requests share.
 *
 * The frames tell where a task is, so the functions themselves run as ever.
 */
#include "engine/intercept.h"
#include "task/fiber.h"
#include "task/inside.h"
#include "task/marks.h"
#include "task/no_suspend.h"

#include <ext/spl/spl_array.h>
#include <ext/spl/spl_heap.h>

typedef enum kind {
	WALKS = 1,  /* in any call: it goes over the value, or holds a place in it */
	WALKS_ARRAY, /* where its first argument is an array */
	IN_OBJECTS, /* in any call while it is in the middle of an object: what a property has may be replaced; an array that it has stays as it is */
	PRINTS,     /* the same, and when it waits for the client */
	IN_ERRORS   /* in an error handler: it may compute the values of a class, which another request would compute again, or point into its object */
} kind;

/* Lower case; the class is NULL for a function. Those that are not loaded are skipped. */
static const struct { const char *ce, *name; kind kind; } walkers[] = {
	{NULL, "serialize", WALKS}, {NULL, "igbinary_serialize", WALKS}, {NULL, "msgpack_pack", WALKS}, {NULL, "msgpack_serialize", WALKS},
	{NULL, "yaml_emit", WALKS}, {"splobjectstorage", "serialize", WALKS}, {"spldoublylinkedlist", "serialize", WALKS},
	{"arrayobject", "serialize", WALKS}, {NULL, "session_encode", WALKS}, {NULL, "msg_send", WALKS}, {NULL, "shm_put_var", WALKS},
	{NULL, "apcu_store", WALKS}, {NULL, "apcu_add", WALKS}, {"hearth\\cache", "set", WALKS}, {"hearth\\cache", "add", WALKS},
	{"hearth\\cache", "setmultiple", WALKS}, {"hearth\\cache", "compareandswap", WALKS},
	/* The argument is copied, but not an array in it that is a reference. */
	{NULL, "filter_var_array", WALKS}, {NULL, "filter_var", WALKS_ARRAY},
	/* It reads from the segment itself, which shm_detach() unmaps. */
	{NULL, "shm_get_var", WALKS},
	/* It adds up the sizes of the bound texts, calls the __toString() of bound objects, and copies the texts then. */
	{NULL, "mysqli_stmt_execute", WALKS}, {NULL, "mysqli_execute", WALKS}, {"mysqli_stmt", "execute", WALKS},
	/* They use the result of a handler even where it has thrown, as it does when the client leaves. */
	{"oauthprovider", "checkoauthrequest", WALKS}, {"oauthprovider", "callconsumerhandler", WALKS},
	{"oauthprovider", "calltimestampnoncehandler", WALKS}, {"oauthprovider", "calltokenhandler", WALKS},
	/* another storage, while getHash() runs */
	{"splobjectstorage", "addall", WALKS}, {"splobjectstorage", "removeall", WALKS}, {"splobjectstorage", "removeallexcept", WALKS},
	{NULL, "var_dump", PRINTS}, {NULL, "debug_zval_dump", PRINTS}, {NULL, "var_export", IN_OBJECTS}, {NULL, "print_r", IN_OBJECTS},
	{NULL, "in_array", IN_OBJECTS}, {NULL, "array_search", IN_OBJECTS}, {NULL, "array_keys", IN_OBJECTS}, {NULL, "min", IN_OBJECTS},
	{NULL, "max", IN_OBJECTS}, {NULL, "sort", IN_OBJECTS}, {NULL, "rsort", IN_OBJECTS}, {NULL, "asort", IN_OBJECTS},
	{NULL, "arsort", IN_OBJECTS}, {NULL, "array_unique", IN_OBJECTS}, {NULL, "collator_sort", IN_OBJECTS}, {NULL, "collator_asort", IN_OBJECTS},
	{NULL, "constant", IN_ERRORS}, {NULL, "defined", IN_ERRORS}, {NULL, "get_class_vars", IN_ERRORS}, {NULL, "unserialize", IN_ERRORS},
};

/* Their kinds, by their handlers. Empty where no two requests run at the same time. */
static HashTable handlers;

/* Ds\Hashable; NULL without that extension. */
static const zend_class_entry *hashable;

static zend_ulong key_of(zif_handler handler)
{
	return (zend_ulong) (uintptr_t) handler;
}

static zend_function *find(const char *ce_name, const char *name)
{
	HashTable *table = CG(function_table);

	if (ce_name) {
		zend_class_entry *ce = zend_hash_str_find_ptr(CG(class_table), ce_name, strlen(ce_name));

		table = ce ? &ce->function_table : NULL;
	}
	return table ? zend_hash_str_find_ptr(table, name, strlen(name)) : NULL;
}

void hearth_walking_learn(void)
{
	zval kind;

	zend_hash_init(&handlers, 64, NULL, NULL, 1);
	for (size_t i = 0; i < sizeof walkers / sizeof *walkers; i++) {
		zend_function *function = find(walkers[i].ce, walkers[i].name);

		if (function && function->type == ZEND_INTERNAL_FUNCTION) {
			ZVAL_LONG(&kind, walkers[i].kind);
			zend_hash_index_update(&handlers, key_of(function->internal_function.handler), &kind);
		}
	}
	hashable = zend_hash_str_find_ptr(CG(class_table), ZEND_STRL("ds\\hashable"));
}

/*
 * The cases of an enumeration are computed by its methods, all values of a class by Reflection. Methods of SPL may have a pointer into their object when
 * they convert an argument, which is deprecated: ArrayIterator::seek(1.5).
 */
static bool is_method_in_errors(const zend_function *function)
{
	const zend_class_entry *scope = function->common.scope;
	const zend_module_entry *module = function->internal_function.module;

	return scope && ((scope->ce_flags & ZEND_ACC_ENUM) || (module && (strcmp(module->name, "Reflection") == 0 || strcmp(module->name, "SPL") == 0)));
}

static kind kind_of(const zend_function *function)
{
	const hearth_intercept *intercept = hearth_intercept_known(function);
	const zval *kind = NULL;

	if (handlers.nNumOfElements) {
		kind = zend_hash_index_find(&handlers, key_of(intercept ? intercept->original : function->internal_function.handler));
	}
	return kind ? (enum kind) Z_LVAL_P(kind) : is_method_in_errors(function) ? IN_ERRORS : 0;
}

/* Whether the function is the error handler of the running request, which the engine has unset while it runs. */
static bool is_error_handler(const zend_function *function)
{
	zend_fcall_info_cache cache = {0};
	zval *handler = hearth_current && hearth_current->request ? &hearth_current->request->known_error_handler : NULL;
	bool is = handler && Z_TYPE_P(handler) != IS_UNDEF && zend_is_callable_ex(handler, NULL, IS_CALLABLE_SUPPRESS_DEPRECATIONS, NULL, &cache, NULL)
		&& cache.function_handler == function;

	zend_release_fcall_info_cache(&cache);
	return is;
}

/*
 * Whether the function may have a pointer into a variable that is passed by reference, and that more than its caller has. The error handler runs for a
 * later parameter too: a callable such as 'self::compare' is deprecated. Functions that get references of their own may be left: see task/references.c.
 */
static bool has_shared_reference(zend_execute_data *call)
{
	const hearth_intercept *intercept = hearth_intercept_known(call->func);
	uint32_t count = intercept && intercept->has_references ? 0 : ZEND_CALL_NUM_ARGS(call);

	for (uint32_t i = 1; i <= count; i++) {
		const zval *argument = ZEND_CALL_ARG(call, i);

		if (Z_ISREF_P(argument) && ARG_SHOULD_BE_SENT_BY_REF(call->func, i) && !hearth_reference_is_of_caller(call, Z_REF_P(argument))) {
			return true;
		}
	}
	return false;
}

/*
 * Whether FFI calls a function of a library here. The library may be in the middle of its own state when it calls back, and an exception in its callback is
 * a fatal error.
 */
static bool is_of_library(const zend_function *function)
{
	return (function->common.fn_flags & ZEND_ACC_CALL_VIA_TRAMPOLINE) && !function->common.scope && !function->internal_function.module;
}

/* Whether this function of C is not left in a call that it has made. */
static bool stays(zend_execute_data *frame, const zend_function *called)
{
	switch (kind_of(frame->func)) {
		case WALKS:
			return true;
		case WALKS_ARRAY:
			return ZEND_CALL_NUM_ARGS(frame) > 0 && Z_TYPE_P(ZEND_CALL_ARG(frame, 1)) == IS_ARRAY;
		case IN_OBJECTS:
		case PRINTS:
			return hearth_marks_in_object(frame);
		case IN_ERRORS:
			return is_error_handler(called);
		default:
			return is_of_library(frame->func) || (has_shared_reference(frame) && is_error_handler(called));
	}
}

bool hearth_prints_object(zend_execute_data *call)
{
	return !ZEND_USER_CODE(call->func->type) && UNEXPECTED(kind_of(call->func) == PRINTS) && hearth_marks_in_object(call);
}

bool hearth_is_heap(const zend_class_entry *ce)
{
	return ce && (instanceof_function(ce, spl_ce_SplHeap) || instanceof_function(ce, spl_ce_SplPriorityQueue));
}

static bool is_of_heap(const zend_function *function)
{
	return hearth_is_heap(function->common.scope);
}

/* Whether the code of the frame is in a step of an iteration over a heap, which removes an element. */
static bool iterates_heap(const zend_execute_data *frame)
{
	const hearth_inside *inside = NULL;

	while (UNEXPECTED(hearth_current && hearth_current->inside) && (inside = hearth_inside_of(frame, inside))) {
		if (inside->object && hearth_is_heap(inside->object->ce)) {
			return true;
		}
	}
	return false;
}

/* Whether the call is made by an insertion into a heap or a removal; those of `foreach` show no other function. */
static bool is_called_by_heap(const zend_execute_data *call, const zend_execute_data *below)
{
	const zend_function *function = call->func;

	return (!ZEND_USER_CODE(below->func->type) && is_of_heap(below->func))
		|| (is_of_heap(function) && zend_string_equals_literal_ci(function->common.function_name, "compare")) || iterates_heap(below);
}

/*
 * What serializes or prints a value may be any function, or none: a session is written at the end of the request. No mark tells that print_r() is in
 * an object while its __debugInfo() runs.
 */
static bool gives_content(const zend_function *function)
{
	const zend_string *name = function->common.function_name;
	const zend_class_entry *scope = function->common.scope;

	return scope && name && (zend_string_equals_literal_ci(name, "__serialize") || zend_string_equals_literal_ci(name, "__sleep")
		|| zend_string_equals_literal_ci(name, "__debuginfo")
		|| (zend_string_equals_literal_ci(name, "serialize") && instanceof_function(scope, zend_ce_serializable)));
}

/* What asks an iterator for an element points into its array, and asks for the key then. */
static bool gives_key(const zend_function *function)
{
	return function->common.scope && zend_string_equals_literal_ci(function->common.function_name, "key")
		&& instanceof_function(function->common.scope, spl_ce_ArrayIterator);
}

/*
 * Whether `$map[$key]`, isset() or unset() of a Ds\Map asks the key, in the middle of a bucket. In a method of the map other tasks' calls are
 * refused: see task/in_use_functions.c.
 */
static bool is_asked_by_map(const zend_execute_data *call, const zend_execute_data *below)
{
	const zend_function *function = call->func;

	return UNEXPECTED(hashable) && ZEND_USER_CODE(below->func->type) && function->common.scope
		&& instanceof_function(function->common.scope, hashable) && (zend_string_equals_literal_ci(function->common.function_name, "hash")
			|| zend_string_equals_literal_ci(function->common.function_name, "equals"));
}

/* The lowest frame of a task belongs to no function. */
bool hearth_is_called_by_walker(const zend_execute_data *call, zend_execute_data *below)
{
	return (below->prev_execute_data && !ZEND_USER_CODE(below->func->type) && stays(below, call->func)) || gives_content(call->func)
		|| gives_key(call->func) || is_called_by_heap(call, below) || is_asked_by_map(call, below);
}

/* Whether a heap is being changed, from the running code on down. */
bool hearth_heap_is_changed(void)
{
	const zend_execute_data *call = EG(current_execute_data), *below;

	for (; call; call = below) {
		below = hearth_call_below(call);
		if (below && below->func && call->func && hearth_is_called_by_engine(call, below)
				&& is_called_by_heap(call, below)) {
			return true;
		}
	}
	return false;
}
