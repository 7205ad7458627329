/*
 * Access to objects of Hearth\Pool\Entry, a class in PHP (php/src/Pool/Entry.php). The changes of every lease are written
 * here directly: the offset of each property named below is looked up when the library is loaded.
 */
#include "engine/engine.h"
#include "engine/intercept.h"
#include "pool/entry.h"
#include "pool/pool.h"
#include "task/in_use.h"
#include "task/interrupted.h"

#define PROPERTIES(X) X(connection) X(state) X(owner) X(depth) X(lease) X(borrowedAt) X(usedAt) X(wornOutAt) X(evictReason) X(watched) \
	X(dirty) X(statements) X(attributes) X(trace) X(usedBy) X(kept)
#define DECLARE(name) uint32_t name;

zend_class_entry *hearth_pool_entry_ce;
static struct { PROPERTIES(DECLARE) } at;
/* Cases of Hearth\Pool\State. */
static zend_object *lent, *reserved;

static uint32_t place_of(const char *name)
{
	zend_property_info *info = zend_hash_str_find_ptr(&hearth_pool_entry_ce->properties_info, name, strlen(name));

	if (!info) {
		zend_error_noreturn(E_CORE_ERROR, "Hearth\\Pool\\Entry has no property $%s", name);
	}
	return info->offset;
}

void hearth_pool_entry_prepare(void)
{
	hearth_pool_entry_ce = zend_hash_str_find_ptr(CG(class_table), ZEND_STRL("hearth\\pool\\entry"));
	if (!hearth_pool_entry_ce) {
		return;
	}
#define LOOKUP(name) at.name = place_of(#name);
	PROPERTIES(LOOKUP)
}

static zval *property(zend_object *entry, uint32_t place)
{
	return OBJ_PROP(entry, place);
}

/* `*known` caches the case from its first use on, and not earlier: as an object the case counts among the app's. */
static void set_state(zend_object *entry, const char *name, zend_object **known)
{
	zval *now = property(entry, at.state), before;

	if (UNEXPECTED(!*known)) {
		*known = zend_enum_get_case_cstr(hearth_prelude_class("Hearth\\Pool\\State"), name);
	}
	ZVAL_COPY_VALUE(&before, now);
	ZVAL_OBJ_COPY(now, *known);
	zval_ptr_dtor(&before);
}

void hearth_pool_entry_lend(zend_object *entry, zend_long owner, double now)
{
	set_state(entry, "Lent", &lent);
	ZVAL_LONG(property(entry, at.owner), owner);
	ZVAL_LONG(property(entry, at.depth), 1);
	ZVAL_DOUBLE(property(entry, at.borrowedAt), now);
}

double hearth_pool_entry_return(zend_object *entry, double now)
{
	ZVAL_DOUBLE(property(entry, at.usedAt), now);
	Z_LVAL_P(property(entry, at.lease))++;
	set_state(entry, "Reserved", &reserved);
	return now - Z_DVAL_P(property(entry, at.borrowedAt));
}

zend_long hearth_pool_entry_owner(zend_object *entry)
{
	return Z_LVAL_P(property(entry, at.owner));
}

bool hearth_pool_entry_is_of(zend_object *entry, const zend_object *connection)
{
	const zval *own = property(entry, at.connection);

	return Z_TYPE_P(own) == IS_OBJECT && Z_OBJ_P(own) == connection;
}

bool hearth_pool_entry_is_interrupted(zend_object *entry)
{
	return UNEXPECTED(hearth_interruptions)
		&& hearth_is_interrupted(property(entry, at.connection), (uint64_t) Z_LVAL_P(property(entry, at.owner)));
}

void hearth_pool_entry_keep(zend_object *entry, zend_object *statement)
{
	zval *kept = property(entry, at.kept);

	GC_ADDREF(statement);
	SEPARATE_ARRAY(kept);
	add_next_index_object(kept, statement);
}

double hearth_pool_entry_since(zend_object *entry)
{
	return Z_DVAL_P(property(entry, hearth_pool_entry_is_lent(entry) ? at.borrowedAt : at.usedAt));
}

static bool has_unread_result(zend_object *entry)
{
	zval *connection = hearth_pool_entry_raw_connection(entry);

	return connection && hearth_has_unread_result(connection);
}

/* Whether a task waits for an answer on its connection. */
static bool is_in_use(zend_object *entry)
{
	const zval *connection = property(entry, at.connection);

	return hearth_uses && Z_TYPE_P(connection) == IS_OBJECT && hearth_use_any(hearth_connection_of_object(Z_OBJ_P(connection)));
}

bool hearth_pool_entry_is_sound(zend_object *entry, double now)
{
	return Z_TYPE_P(property(entry, at.evictReason)) == IS_NULL && !is_in_use(entry) && Z_LVAL_P(property(entry, at.statements)) == 0
		&& zend_hash_num_elements(Z_ARRVAL_P(property(entry, at.kept))) == 0 && !has_unread_result(entry)
		&& Z_TYPE_P(property(entry, at.trace)) == IS_NULL && Z_DVAL_P(property(entry, at.wornOutAt)) > now;
}

bool hearth_pool_entry_is_unchanged(zend_object *entry)
{
	return Z_TYPE_P(property(entry, at.watched)) == IS_TRUE && Z_TYPE_P(property(entry, at.dirty)) == IS_FALSE
		&& zend_hash_num_elements(Z_ARRVAL_P(property(entry, at.attributes))) == 0
		&& !hearth_in_transaction(property(entry, at.connection));
}

void hearth_pool_entry_forget_last_id(zend_object *entry)
{
	zval *connection = property(entry, at.connection);

	if (Z_TYPE_P(connection) == IS_OBJECT) {
		hearth_forget_last_id(connection);
	}
}

bool hearth_pool_entry_is_first_lease(zend_object *entry)
{
	return Z_LVAL_P(property(entry, at.lease)) == 0;
}

bool hearth_pool_entry_is_lent(zend_object *entry)
{
	return lent && Z_OBJ_P(property(entry, at.state)) == lent;
}

bool hearth_pool_entry_is_lent_to(zend_object *entry, uint64_t task)
{
	return hearth_pool_entry_is_lent(entry) && (uint64_t) hearth_pool_entry_owner(entry) == task;
}

uint64_t hearth_pool_entry_user(zend_object *entry)
{
	return (uint64_t) (hearth_pool_entry_is_lent(entry) ? hearth_pool_entry_owner(entry) : Z_LVAL_P(property(entry, at.usedBy)));
}

zval *hearth_pool_entry_raw_connection(zend_object *entry)
{
	zval *connection = property(entry, at.connection);

	return Z_TYPE_P(connection) == IS_OBJECT && Z_TYPE_P(property(entry, at.watched)) == IS_FALSE ? connection : NULL;
}
