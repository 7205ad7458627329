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

/* Whether the call is made by an insertion into a heap or a removal; those of `foreach` show no other function. */
static bool is_called_by_heap(const zend_execute_data *call, const zend_execute_data *below)
{
	const zend_function *function = call->func;

	return (!ZEND_USER_CODE(below->func->type) && is_of_heap(below->func))
		|| (is_of_heap(function) && zend_string_equals_literal_ci(function->common.function_name, "compare"));
}

/* What serializes a value may be any function, or none: a session is written at the end of the request. */
static bool serializes(const zend_function *function)
{
	const zend_string *name = function->common.function_name;
	const zend_class_entry *scope = function->common.scope;

	return scope && name && (zend_string_equals_literal_ci(name, "__serialize") || zend_string_equals_literal_ci(name, "__sleep")
		|| (zend_string_equals_literal_ci(name, "serialize") && instanceof_function(scope, zend_ce_serializable)));
}

/* The lowest frame of a task belongs to no function. */
bool hearth_is_called_by_walker(const zend_execute_data *call, const zend_execute_data *below)
{
	return (below->prev_execute_data && !ZEND_USER_CODE(below->func->type) && is_walker(below->func)) || serializes(call->func)
		|| is_called_by_heap(call, below);
}

/* Whether a heap is being changed, from the running code on down. */
bool hearth_heap_is_changed(void)
{
	const zend_execute_data *call = EG(current_execute_data), *below;

	for (; call; call = below) {
		below = hearth_call_below(call);
		if (below && below->func && call->func && (ZEND_CALL_INFO(call) & ZEND_CALL_TOP)
				&& is_called_by_heap(call, below)) {
			return true;
		}
	}
	return false;
}
