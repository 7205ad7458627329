/* What a task took along while it waited is put back: see task/marks.c. */
#include "engine/engine.h"
#include "task/kept_values.h"
#include "task/marks.h"

static const HashTable *table_in(const zend_refcounted *what)
{
	const zval *value = &((const zend_reference *) what)->val;

	if (GC_TYPE(what) == IS_OBJECT) {
		return ((const zend_object *) what)->properties;
	}
	return Z_TYPE_P(value) == IS_ARRAY ? Z_ARRVAL_P(value) : NULL;
}

static void put_back(const hearth_mark *mark)
{
	if (mark->guard) {
		*mark->guard |= mark->bits;
	} else if (mark->held) {
		return;
	} else if (!mark->table) {
		GC_PROTECT_RECURSION(mark->what);
	} else if (table_in(mark->what) == mark->table) {
		GC_PROTECT_RECURSION(mark->table);
	}
}

void hearth_marks_put_back(hearth_marks *marks)
{
	for (uint32_t i = 0; i < marks->count; i++) {
		const hearth_mark *mark = &marks->list[i];

		put_back(mark);
		if (!mark->what) {
			continue;
		}
		/* If other code has removed the value from its container, the function still walks it: so it stays alive. */
		if (GC_REFCOUNT(mark->what) > 1) {
			GC_DELREF(mark->what);
		} else {
			hearth_keep_value(hearth_current, mark->what);
		}
	}
	if (marks->list) {
		pefree(marks->list, 1);
	}
	*marks = (hearth_marks){0};
}
