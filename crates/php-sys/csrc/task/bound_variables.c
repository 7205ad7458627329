/*
 * Variables that are bound to a PDO statement by reference. A driver takes the address of the text in the variable and reads it while it
 * executes the statement, which waits; SQLite reads it up to the next execution. In `php` only the code itself could assign to the variable
 * meanwhile; here another request could. So the statement has references of its own for the time of the execution.
 */
#include "engine/intercept.h"
#include "task/in_use.h"

#include <ext/pdo/php_pdo_driver.h>

typedef struct {
	zend_reference *shared, *own;    /* both are owned here */
	zval before;
	bool is_output;
} bound_variable;

struct hearth_bound_variables {
	uint32_t count;
	bound_variable list[];
};

/* What SQLite may still read, by statement: an array of values, which is freed with the statement. */
static HashTable executed;

static HashTable *parameters_of(zend_object *statement)
{
	return php_pdo_stmt_fetch_object(statement)->bound_params;
}

static void replace(bound_variable *this, struct pdo_bound_param_data *parameter)
{
	zval value;

	this->shared = Z_REF(parameter->parameter);
	this->is_output = (parameter->param_type & PDO_PARAM_INPUT_OUTPUT) != 0;
	ZVAL_COPY(&this->before, &this->shared->val);
	ZVAL_COPY(&value, &this->before);
	ZVAL_NEW_REF(&parameter->parameter, &value);
	this->own = Z_REF(parameter->parameter);
	GC_ADDREF(this->own);
}

static bool has_references(HashTable *parameters)
{
	const struct pdo_bound_param_data *parameter;

	ZEND_HASH_FOREACH_PTR(parameters, parameter) {
		if (Z_ISREF(parameter->parameter)) {
			return true;
		}
	} ZEND_HASH_FOREACH_END();
	return false;
}

hearth_bound_variables *hearth_bound_replace(zend_object *statement)
{
	HashTable *parameters = parameters_of(statement);
	hearth_bound_variables *variables;
	struct pdo_bound_param_data *parameter;

	if (!parameters || !has_references(parameters)) {
		return NULL;
	}
	variables = safe_emalloc(zend_hash_num_elements(parameters), sizeof *variables->list, sizeof *variables);
	variables->count = 0;
	ZEND_HASH_FOREACH_PTR(parameters, parameter) {
		if (Z_ISREF(parameter->parameter)) {
			replace(&variables->list[variables->count++], parameter);
		}
	} ZEND_HASH_FOREACH_END();
	return variables;
}

static bool is_same(const zval *one, const zval *other)
{
	return Z_TYPE_P(one) == Z_TYPE_P(other) && (Z_TYPE_P(one) <= IS_TRUE || Z_LVAL_P(one) == Z_LVAL_P(other));
}

/* What the driver has written, or converted where no other code has assigned to the variable. */
static void assign(const bound_variable *this)
{
	zend_reference *shared = this->shared;
	zval value, old;

	if (is_same(&this->own->val, &this->before) || (!this->is_output && !is_same(&shared->val, &this->before))) {
		return;
	}
	ZVAL_COPY(&value, &this->own->val);
	if (ZEND_REF_HAS_TYPE_SOURCES(shared)) {
		zend_try_assign_typed_ref_zval(shared, &value);
		return;
	}
	ZVAL_COPY_VALUE(&old, &shared->val);
	ZVAL_COPY_VALUE(&shared->val, &value);
	zval_ptr_dtor(&old);
}

/* Code of the app may have bound another variable meanwhile. */
static void put_back(const bound_variable *this, HashTable *parameters)
{
	struct pdo_bound_param_data *parameter;

	if (!parameters) {
		return;
	}
	ZEND_HASH_FOREACH_PTR(parameters, parameter) {
		if (Z_ISREF(parameter->parameter) && Z_REF(parameter->parameter) == this->own) {
			GC_DELREF(this->own);
			GC_ADDREF(this->shared);
			ZVAL_REF(&parameter->parameter, this->shared);
		}
	} ZEND_HASH_FOREACH_END();
}

static void release(zend_reference *reference)
{
	zval value;

	ZVAL_REF(&value, reference);
	zval_ptr_dtor(&value);
}

/* Keeps the values that the statement has been executed with. */
static void keep(zend_object *statement, const hearth_bound_variables *variables)
{
	zval kept;

	if (!executed.nTableSize) {
		zend_hash_init(&executed, 8, NULL, ZVAL_PTR_DTOR, 1);
	}
	array_init_size(&kept, variables->count);
	for (uint32_t i = 0; i < variables->count; i++) {
		zval *value = &variables->list[i].own->val;

		Z_TRY_ADDREF_P(value);
		zend_hash_next_index_insert_new(Z_ARRVAL(kept), value);
	}
	zend_weakrefs_hash_del(&executed, statement);
	zend_weakrefs_hash_add(&executed, statement, &kept);
}

void hearth_bound_put_back(zend_object *statement, hearth_bound_variables *variables)
{
	const pdo_stmt_t *pdo = php_pdo_stmt_fetch_object(statement);

	if (pdo->dbh && pdo->dbh->driver && strcmp(pdo->dbh->driver->driver_name, "sqlite") == 0) {
		keep(statement, variables);
	}
	for (uint32_t i = 0; i < variables->count; i++) {
		bound_variable *this = &variables->list[i];

		put_back(this, pdo->bound_params);
		assign(this);
		zval_ptr_dtor(&this->before);
		release(this->own);
		release(this->shared);
	}
	efree(variables);
}
