/*
 * Calls a function of PHP or of an extension. `disable_functions` takes its entry out of the table of functions, where the app
 * may put a function of that name, but variables inside the extension are there all the same, and other functions use them.
 */
#include "engine/internal_call.h"

/* The function as its extension declares it. Its name is the caller's to release. */
static void declare(zend_internal_function *function, const zend_function_entry *entry, zend_module_entry *module)
{
	const zend_internal_function_info *info = (const zend_internal_function_info *) entry->arg_info;

	*function = (zend_internal_function){
		.type = ZEND_INTERNAL_FUNCTION, .function_name = zend_string_init(entry->fname, strlen(entry->fname), 0),
		.num_args = entry->num_args, .required_num_args = (uint32_t) info->required_num_args,
		.arg_info = (zend_internal_arg_info *) entry->arg_info + 1, .handler = entry->handler, .module = module,
	};
	if (info->required_num_args == (uintptr_t) -1) {
		function->required_num_args = entry->num_args;
	}
}

static bool find_declared(const char *name, zend_internal_function *function)
{
	zend_module_entry *module;

	ZEND_HASH_FOREACH_PTR(&module_registry, module) {
		for (const zend_function_entry *entry = module->functions; entry && entry->fname; entry++) {
			if (strcmp(entry->fname, name) == 0) {
				declare(function, entry, module);
				return true;
			}
		}
	} ZEND_HASH_FOREACH_END();
	return false;
}

bool hearth_call_internal(zend_function *function, uint32_t count, zval *arguments, zval *result)
{
	zend_execute_data *frame = zend_vm_stack_push_call_frame(ZEND_CALL_TOP_FUNCTION, function, count, NULL);

	for (uint32_t i = 0; i < count; i++) {
		ZVAL_COPY(ZEND_CALL_ARG(frame, i + 1), &arguments[i]);
	}
	ZVAL_NULL(result);
	frame->prev_execute_data = EG(current_execute_data);
	EG(current_execute_data) = frame;
	function->internal_function.handler(frame, result);
	EG(current_execute_data) = frame->prev_execute_data;
	zend_vm_stack_free_args(frame);
	zend_vm_stack_free_call_frame(frame);
	if (!EG(exception)) {
		return true;
	}
	zend_clear_exception();
	zval_ptr_dtor(result);
	ZVAL_UNDEF(result);
	return false;
}

bool hearth_call_function(const char *name, uint32_t count, zval *arguments, zval *result)
{
	zend_function *known = zend_hash_str_find_ptr(CG(function_table), name, strlen(name));
	zend_function declared;
	bool called;

	ZVAL_UNDEF(result);
	if (known && known->type == ZEND_INTERNAL_FUNCTION) {
		return hearth_call_internal(known, count, arguments, result);
	}
	if (!find_declared(name, &declared.internal_function)) {
		return false;
	}
	called = hearth_call_internal(&declared, count, arguments, result);
	zend_string_release(declared.common.function_name);
	return called;
}
