/*
 * The texts that a pool's factory passes to extensions: among them the SQL that sets up its session. PostgreSQL does not
 * list custom settings (`SET my.tenant = …`), so their names are searched for in those texts:
 * php/src/Pool/PostgresqlSession.php.
 */
#include "engine/engine.h"
#include "engine/intercept.h"
#include "pool/pool.h"

/* A running factory; there are few. If a fatal error ends it, the id of its task is not used again. */
typedef struct recorder {
	uint64_t task;
	zval texts;
	struct recorder *next;
} recorder;

static recorder *recorders;

/* Keeps texts with a dot, because the name of a custom setting has one. */
static void add(zval *texts, zval *value)
{
	zval *element;

	ZVAL_DEREF(value);
	if (Z_TYPE_P(value) == IS_STRING && memchr(Z_STRVAL_P(value), '.', Z_STRLEN_P(value))) {
		Z_TRY_ADDREF_P(value);
		add_next_index_zval(texts, value);
	} else if (Z_TYPE_P(value) == IS_ARRAY) {
		ZEND_HASH_FOREACH_VAL(Z_ARRVAL_P(value), element) {
			ZVAL_DEREF(element);
			if (Z_TYPE_P(element) == IS_STRING) {
				add(texts, element);
			}
		} ZEND_HASH_FOREACH_END();
	}
}

bool hearth_texts_are_noted(void)
{
	return recorders != NULL;
}

void hearth_texts_note(zend_execute_data *call)
{
	uint64_t task = hearth_task_id(hearth_current);

	for (recorder *it = recorders; it; it = it->next) {
		if (it->task == task) {
			for (uint32_t i = 1; i <= ZEND_CALL_NUM_ARGS(call); i++) {
				zval *argument = hearth_argument(call, i);

				if (argument) {
					add(&it->texts, argument);
				}
			}
		}
	}
}

static recorder *begin(void)
{
	recorder *self = emalloc(sizeof *self);

	*self = (recorder){.task = hearth_current ? hearth_task_id(hearth_current) : 0, .next = recorders};
	array_init(&self->texts);
	recorders = self;
	return self;
}

/* The caller owns the texts. */
static void end(recorder *self, zval *texts)
{
	recorder **place = &recorders;

	while (*place != self) {
		place = &(*place)->next;
	}
	*place = self->next;
	ZVAL_COPY_VALUE(texts, &self->texts);
	efree(self);
}

/*
 * array Hearth\Internal\withTexts(callable $code): the result of the function, and the list of the texts with a dot that it
 * passed to functions of extensions that may wait. Outside of tasks the list is empty.
 */
ZEND_FUNCTION(Hearth_Internal_withTexts)
{
	zend_fcall_info fci;
	zend_fcall_info_cache cache;
	zval result, texts;
	recorder *noted;

	ZEND_PARSE_PARAMETERS_START(1, 1)
		Z_PARAM_FUNC(fci, cache)
	ZEND_PARSE_PARAMETERS_END();
	ZVAL_UNDEF(&result);
	fci.retval = &result;
	noted = begin();
	zend_call_function(&fci, &cache);
	end(noted, &texts);
	if (Z_ISUNDEF(result)) {
		zval_ptr_dtor(&texts);
		return;
	}
	array_init_size(return_value, 2);
	add_next_index_zval(return_value, &result);
	add_next_index_zval(return_value, &texts);
}
