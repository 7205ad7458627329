/* Values with objects, which PHP serializes: each reader has objects of its own. */
#include "cache/cache.h"

#include <ext/standard/php_incomplete_class.h>
#include <ext/standard/php_var.h>

/*
 * It loads classes and runs their code, which may wait and use the cache, so `bytes` are the caller's own. A release may have
 * removed the class: what cannot be made again is no value any more.
 */
bool hearth_cache_unserialize(zend_string *bytes, zval *out)
{
	const unsigned char *at = (const unsigned char *) ZSTR_VAL(bytes), *end = at + ZSTR_LEN(bytes);
	php_unserialize_data_t data;
	zval value;
	bool whole;

	ZVAL_UNDEF(&value);
	PHP_VAR_UNSERIALIZE_INIT(data);
	whole = php_var_unserialize(&value, &at, end, &data);
	if (whole) {
		ZVAL_COPY_DEREF(out, &value);
	}
	/* Here the objects' own code runs. */
	PHP_VAR_UNSERIALIZE_DESTROY(data);
	zval_ptr_dtor(&value);
	if (whole && !EG(exception) && (Z_TYPE_P(out) != IS_OBJECT || Z_OBJCE_P(out) != php_ce_incomplete_class)) {
		return true;
	}
	if (whole) {
		zval_ptr_dtor(out);
	}
	return false;
}
