/*
 * ldap_set_rebind_proc(): the extension gives libldap the address of its argument, which is a place on the stack of the caller. When the library
 * follows a referral and calls back, the extension reads that place: in a later request, or a deeper call, it has other values. So the
 * function is called with arguments of its own, in memory that stays.
 */
#include "engine/replace.h"
#include "task/in_use.h"

enum { ARGUMENTS = 2 };

/* By the address of the connection: another one at the same address gets the same arguments. */
static HashTable frames;

static zend_execute_data *frame_of(const zend_object *connection)
{
	zend_ulong key = (zend_ulong) (uintptr_t) connection;
	zend_execute_data *frame;

	if (!frames.nTableSize) {
		zend_hash_init(&frames, 8, NULL, NULL, true);
	}
	frame = zend_hash_index_find_ptr(&frames, key);
	if (!frame) {
		frame = pecalloc(ZEND_CALL_FRAME_SLOT + ARGUMENTS, sizeof(zval), true);
		zend_hash_index_add_new_ptr(&frames, key, frame);
	}
	return frame;
}

static zif_handler original;

/* The extension takes its arguments from the frame that is current. */
static void on_set(INTERNAL_FUNCTION_PARAMETERS)
{
	zend_execute_data *frame;

	if (ZEND_NUM_ARGS() != ARGUMENTS || Z_TYPE_P(ZEND_CALL_ARG(execute_data, 1)) != IS_OBJECT) {
		original(INTERNAL_FUNCTION_PARAM_PASSTHRU);
		return;
	}
	frame = frame_of(Z_OBJ_P(ZEND_CALL_ARG(execute_data, 1)));
	frame->func = EX(func);
	frame->prev_execute_data = EX(prev_execute_data);
	ZEND_CALL_NUM_ARGS(frame) = ARGUMENTS;
	for (uint32_t i = 1; i <= ARGUMENTS; i++) {
		ZVAL_COPY_VALUE(ZEND_CALL_ARG(frame, i), ZEND_CALL_ARG(execute_data, i));
	}
	EG(current_execute_data) = frame;
	original(frame, return_value);
	EG(current_execute_data) = execute_data;
}

void hearth_ldap_rebind_watch(void)
{
	hearth_replace_function("ldap_set_rebind_proc", &original, on_set);
}
