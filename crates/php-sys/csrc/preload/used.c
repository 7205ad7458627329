/*
 * The preloaded files that the current request has used. They run neither include nor autoloader, so a list of included
 * files lacks them, and opcache counts no hits.
 *
 * A function gets its run-time cache for the request at its first call, a class its statics and constants; at the start of
 * the next request all of these pointers are empty again (zend_activate). So a pointer that is set means that it was used.
 */
#include "compat.h"
#include "preload/preload.h"
#include "preload/used_arginfo.h"

static bool was_called(const zend_function *function)
{
	const uint32_t immutable = ZEND_ACC_IMMUTABLE;

	return function->type == ZEND_USER_FUNCTION && !(function->common.fn_flags & ZEND_ACC_ABSTRACT)
		&& (function->common.fn_flags & immutable) && RUN_TIME_CACHE(&function->op_array);
}

/* `*seen`: whether a use would show, because the class has code of its own. */
static bool was_used(zend_class_entry *class, bool *seen)
{
	const zend_function *function;

	*seen = false;
	if ((ZEND_MAP_PTR(class->mutable_data) && ZEND_MAP_PTR_GET(class->mutable_data))
		|| (class->default_static_members_count && ZEND_MAP_PTR(class->static_members_table) && CE_STATIC_MEMBERS(class))) {
		return true;
	}
	ZEND_HASH_FOREACH_PTR(&class->function_table, function) {
		if (function->common.scope != class || function->common.fn_flags & ZEND_ACC_ABSTRACT) {
			continue;
		}
		if (was_called(function)) {
			return true;
		}
		*seen = true;
	} ZEND_HASH_FOREACH_END();
	return false;
}

static void add(zval *files, zend_string *file, bool used)
{
	zval one;

	ZVAL_BOOL(&one, used);
	if (used) {
		zend_hash_update(Z_ARRVAL_P(files), file, &one);
	} else {
		zend_hash_add(Z_ARRVAL_P(files), file, &one);
	}
}

/* Hearth\Internal\preloadedFilesUsed(): array<string, bool>; false for a file whose use cannot be seen. */
ZEND_FUNCTION(Hearth_Internal_preloadedFilesUsed)
{
	zend_class_entry *class;
	const zend_function *function;
	bool seen;
	uint32_t n;

	ZEND_PARSE_PARAMETERS_NONE();
	array_init(return_value);
	ZEND_HASH_FOREACH_PTR(EG(class_table), class) {
		if (class->type == ZEND_USER_CLASS && (class->ce_flags & ZEND_ACC_PRELOADED)) {
			bool used = was_used(class, &seen);

			if (used || !seen) {
				add(return_value, class->info.user.filename, used);
			}
		}
	} ZEND_HASH_FOREACH_END();
	ZEND_HASH_FOREACH_PTR(EG(function_table), function) {
		if (function->type == ZEND_USER_FUNCTION && (function->common.fn_flags & ZEND_ACC_PRELOADED) && was_called(function)) {
			add(return_value, function->op_array.filename, true);
		}
	} ZEND_HASH_FOREACH_END();
	/* Classes used by `new` alone, of which maybe no method has run. */
	for (n = 1; n < EG(objects_store).top; n++) {
		const zend_object *object = EG(objects_store).object_buckets[n];

		if (IS_OBJ_VALID(object) && object->ce->type == ZEND_USER_CLASS && (object->ce->ce_flags & ZEND_ACC_PRELOADED)) {
			add(return_value, object->ce->info.user.filename, true);
		}
	}
}

void hearth_register_preload_used(void)
{
	zend_register_functions(NULL, ext_functions, NULL, MODULE_PERSISTENT);
}
