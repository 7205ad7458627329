/*
 * C code of PHP in whose middle a task is not left because it walks a value: an array, the properties of an object, a heap, bound variables. It keeps pointers
 * into the value while it calls PHP code: `__serialize()`, the `__toString()` of an element, a comparison. In `php` only that code itself could
 * change the value meanwhile; here another request could, where the value is in a static property or in an object that requests share.
 *
 * The frames tell where a task is, so the functions themselves run as ever.
 */
#include "engine/intercept.h"
#include "task/fiber.h"
#include "task/no_suspend.h"

#include <ext/spl/spl_heap.h>

/* Lower case; the class is NULL for a function. Those that are not loaded are skipped. */
static const struct { const char *ce, *name; } walkers[] = {
	{NULL, "serialize"}, {NULL, "igbinary_serialize"}, {NULL, "msgpack_pack"}, {NULL, "msgpack_serialize"}, {NULL, "yaml_emit"},
	{"splobjectstorage", "serialize"}, {"spldoublylinkedlist", "serialize"}, {"arrayobject", "serialize"},
	{NULL, "session_encode"}, {NULL, "msg_send"}, {NULL, "shm_put_var"},
	{NULL, "apcu_store"}, {NULL, "apcu_add"}, {"hearth\\cache", "set"}, {"hearth\\cache", "add"}, {"hearth\\cache", "setmultiple"},
	{"hearth\\cache", "compareandswap"},
	/* It adds up the sizes of the bound texts, calls the __toString() of bound objects, and copies the texts then. */
	{NULL, "mysqli_stmt_execute"}, {NULL, "mysqli_execute"}, {"mysqli_stmt", "execute"},
	/* another storage, while getHash() runs */
	{"splobjectstorage", "addall"}, {"splobjectstorage", "removeall"}, {"splobjectstorage", "removeallexcept"},
};

/* Their handlers. Empty where no two requests run at the same time. */
static HashTable handlers;

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
	zend_hash_init(&handlers, 32, NULL, NULL, 1);
	for (size_t i = 0; i < sizeof walkers / sizeof *walkers; i++) {
		zend_function *function = find(walkers[i].ce, walkers[i].name);

		if (function && function->type == ZEND_INTERNAL_FUNCTION) {
			zend_hash_index_add_empty_element(&handlers, key_of(function->internal_function.handler));
		}
	}
}

static bool is_walker(const zend_function *function)
{
	const hearth_intercept *intercept = hearth_intercept_known(function);
	zif_handler handler = intercept ? intercept->original : function->internal_function.handler;

	return handlers.nNumOfElements && zend_hash_index_exists(&handlers, key_of(handler));
}

static bool is_of_heap(const zend_function *function)
{
	const zend_class_entry *scope = function->common.scope;

	return scope && (instanceof_function(scope, spl_ce_SplHeap) || instanceof_function(scope, spl_ce_SplPriorityQueue));
}

/* Whether this function is called by an insertion into a heap or a removal; those of `foreach` show no other function. */
static bool is_called_by_heap(const zend_function *function, const zend_execute_data *below)
{
	bool of_heap = below && !ZEND_USER_CODE(below->func->type) && is_of_heap(below->func);

	return of_heap || (zend_string_equals_literal_ci(function->common.function_name, "compare") && is_of_heap(function));
}

/* What serializes a value may be any function, or none: a session is written at the end of the request. */
static bool serializes(const zend_function *function)
{
	const zend_string *name = function->common.function_name;
	const zend_class_entry *scope = function->common.scope;

	return scope && (zend_string_equals_literal_ci(name, "__serialize") || zend_string_equals_literal_ci(name, "__sleep")
		|| (zend_string_equals_literal_ci(name, "serialize") && instanceof_function(scope, zend_ce_serializable)));
}

typedef bool (*check)(const zend_function *function, const zend_execute_data *below);

/* Whether this holds for a function that is called without a call in the script, from the running code on down. `below`: NULL at the bottom. */
static bool is_inside(check check)
{
	const zend_execute_data *call = EG(current_execute_data), *below;

	for (; call; call = below) {
		below = hearth_call_below(call);
		if (call->func && (ZEND_CALL_INFO(call) & ZEND_CALL_TOP) && call->func->common.function_name
				&& UNEXPECTED(check(call->func, below && below->func ? below : NULL))) {
			return true;
		}
	}
	return false;
}

static bool is_called_by_walker(const zend_function *function, const zend_execute_data *below)
{
	bool by_walker = below && !ZEND_USER_CODE(below->func->type) && is_walker(below->func);

	return by_walker || serializes(function) || is_called_by_heap(function, below);
}

bool hearth_walks_value(void)
{
	return is_inside(is_called_by_walker);
}

bool hearth_heap_is_changed(void)
{
	return is_inside(is_called_by_heap);
}
