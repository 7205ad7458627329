/*
 * Class declarations that run with the script: of a class with a parent, interfaces or traits. While the engine links such a class, the table
 * of classes has it half made, and a deprecation calls the error handler. So these opcodes run as in the engine's zend_vm_def.h, in a
 * section: another task would not find the class, or would link another class with this one's state.
 */
#include "engine/engine.h"
#include "task/no_suspend.h"

#include <zend_inheritance.h>

/* An exception has set the opline of the frame. */
static int go_on(zend_execute_data *frame)
{
	if (EXPECTED(!EG(exception))) {
		frame->opline++;
	}
	return ZEND_USER_OPCODE_CONTINUE;
}

static zend_string *parent_of(const zend_op *opline)
{
	return opline->op2_type == IS_CONST ? Z_STR_P(RT_CONSTANT(opline, opline->op2)) : NULL;
}

static void **cached(zend_execute_data *frame, uint32_t slot)
{
	return (void **) ((char *) frame->run_time_cache + slot);
}

static int on_declare_class(zend_execute_data *frame)
{
	const zend_op *opline = frame->opline;
	hearth_section *section = hearth_section_enter(__builtin_frame_address(0));

	do_bind_class(RT_CONSTANT(opline, opline->op1), parent_of(opline));
	hearth_section_leave(section);
	return go_on(frame);
}

static int on_declare_class_delayed(zend_execute_data *frame)
{
	const zend_op *opline = frame->opline;
	void **ce = cached(frame, opline->extended_value);
	zval *lower = RT_CONSTANT(opline, opline->op1);
	zval *unlinked = *ce ? NULL : zend_hash_find_known_hash(EG(class_table), Z_STR_P(lower + 1));

	if (unlinked) {
		hearth_section *section = hearth_section_enter(__builtin_frame_address(0));

		*ce = zend_bind_class_in_slot(unlinked, lower, parent_of(opline));
		hearth_section_leave(section);
	}
	return go_on(frame);
}

static int on_declare_anonymous_class(zend_execute_data *frame)
{
	const zend_op *opline = frame->opline;
	zval *key = RT_CONSTANT(opline, opline->op1);
	void **place = cached(frame, opline->extended_value);
	zend_class_entry *ce = *place;

	if (UNEXPECTED(!ce)) {
		ce = Z_CE_P(zend_hash_find_known_hash(EG(class_table), Z_STR_P(key)));
		if (!(ce->ce_flags & ZEND_ACC_LINKED)) {
			hearth_section *section = hearth_section_enter(__builtin_frame_address(0));

			ce = zend_do_link_class(ce, parent_of(opline), Z_STR_P(key));
			hearth_section_leave(section);
			if (!ce) {
				return ZEND_USER_OPCODE_CONTINUE;
			}
		}
		*place = ce;
	}
	Z_CE_P(ZEND_CALL_VAR(frame, opline->result.var)) = ce;
	return go_on(frame);
}

void hearth_class_linking_hook(void)
{
	zend_set_user_opcode_handler(ZEND_DECLARE_CLASS, on_declare_class);
	zend_set_user_opcode_handler(ZEND_DECLARE_CLASS_DELAYED, on_declare_class_delayed);
	zend_set_user_opcode_handler(ZEND_DECLARE_ANON_CLASS, on_declare_anonymous_class);
}
