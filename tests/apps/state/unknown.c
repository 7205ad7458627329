/* Extensions that the table of engine state does not know: `unknown` keeps a request's data, `shared` the process's. */
#include <php.h>

#include <locale.h>

typedef struct { zend_long number; char *text; char *cache; } globals;

#ifndef NAME
# error "NAME is the extension's name"
#endif
#define QUOTED(name) #name
#define STRING(name) QUOTED(name)

static globals state;

static PHP_RSHUTDOWN_FUNCTION(probe)
{
	if (state.text) {
		efree(state.text);
	}
	state.text = NULL;
	return SUCCESS;
}

/* Keeps the text: of the request, or, in `shared`, of the process. */
static ZEND_FUNCTION(set)
{
	char *text;
	size_t length;

	ZEND_PARSE_PARAMETERS_START(1, 1)
		Z_PARAM_STRING(text, length)
	ZEND_PARSE_PARAMETERS_END();
	state.number++;
#ifdef SHARED
	free(state.cache);
	state.cache = strdup(text);
#else
	if (state.text) {
		efree(state.text);
	}
	state.text = estrndup(text, length);
#endif
}

static ZEND_FUNCTION(get)
{
	ZEND_PARSE_PARAMETERS_NONE();
	array_init(return_value);
	add_next_index_long(return_value, state.number);
	add_next_index_string(return_value, state.text ? state.text : state.cache ? state.cache : "");
}

/* As libraries do that begin by taking the locale of the environment. */
static ZEND_FUNCTION(begin)
{
	ZEND_PARSE_PARAMETERS_NONE();
	RETURN_STRING(setlocale(LC_ALL, ""));
}

ZEND_BEGIN_ARG_INFO_EX(arguments_set, 0, 0, 1)
	ZEND_ARG_INFO(0, text)
ZEND_END_ARG_INFO()
ZEND_BEGIN_ARG_INFO_EX(arguments_get, 0, 0, 0)
ZEND_END_ARG_INFO()

static const zend_function_entry functions[] = {
	{STRING(NAME) "_set", ZEND_FN(set), arguments_set, 1, 0},
	{STRING(NAME) "_get", ZEND_FN(get), arguments_get, 0, 0},
	{STRING(NAME) "_begin", ZEND_FN(begin), arguments_get, 0, 0},
	ZEND_FE_END
};

static zend_module_entry module = {
	STANDARD_MODULE_HEADER, STRING(NAME), functions, NULL, NULL, NULL, PHP_RSHUTDOWN(probe), NULL, "1.0",
	sizeof state, &state, NULL, NULL, NULL, STANDARD_MODULE_PROPERTIES_EX
};

ZEND_DLEXPORT zend_module_entry *get_module(void)
{
	return &module;
}
