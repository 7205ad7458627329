/* $_ENV: every request begins with the array as boot left it, and has its own copy of what it writes. */
#include "request/request.h"

static zend_string *name;
static zval of_boot;

void hearth_env_seal(void)
{
	zval *env;

	name = zend_string_init_interned(ZEND_STRL("_ENV"), 1);
	zend_string_hash_val(name);
	env = zend_hash_find_known_hash(&EG(symbol_table), name);
	if (env && Z_TYPE_P(env) == IS_ARRAY) {
		ZVAL_COPY(&of_boot, env);
	} else {
		ZVAL_EMPTY_ARRAY(&of_boot);
	}
}

/* Returns the variable if the running request has written to it; NULL if it is as boot left it. */
static zval *written(void)
{
	zval *env = name ? zend_hash_find_known_hash(&EG(symbol_table), name) : NULL;

	return env && Z_TYPE_P(env) == IS_ARRAY && Z_ARR_P(env) == Z_ARR(of_boot) ? NULL : env;
}

void hearth_env_clear(void)
{
	zval again;

	if (UNEXPECTED(written() || (name && !zend_hash_exists(&EG(symbol_table), name)))) {
		ZVAL_COPY(&again, &of_boot);
		zend_hash_update(&EG(symbol_table), name, &again);
	}
}

void hearth_env_save(hearth_request_state *state)
{
	zval *env = written();

	ZVAL_UNDEF(&state->env);
	if (UNEXPECTED(env)) {
		ZVAL_COPY_VALUE(&state->env, env);
		ZVAL_COPY(env, &of_boot);
	} else {
		hearth_env_clear();
	}
}

void hearth_env_load(const hearth_request_state *state)
{
	zval env;

	if (UNEXPECTED(Z_TYPE(state->env) != IS_UNDEF)) {
		ZVAL_COPY_VALUE(&env, &state->env);
		zend_hash_update(&EG(symbol_table), name, &env);
	}
}
