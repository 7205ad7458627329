/* The class Hearth\Internal\Histogram: durations, counted by ranges. */
#include "engine/engine.h"
#include "pool/pool.h"
#include "pool/histogram_arginfo.h"

/* Upper ends of the ranges in seconds; the last range has none. */
static const double bounds[] = {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10};
#define BOUNDS (sizeof bounds / sizeof *bounds)

typedef struct {
	zend_long counts[BOUNDS + 1];
	double sum, max;
	zend_object std;
} histogram;

zend_class_entry *hearth_histogram_ce;
static zend_object_handlers handlers;

static histogram *histogram_of(zend_object *object)
{
	return (histogram *) ((char *) object - XtOffsetOf(histogram, std));
}

static zend_object *create(zend_class_entry *ce)
{
	return hearth_object_new(ce, &handlers, sizeof(histogram));
}

void hearth_histogram_record(zend_object *object, double seconds)
{
	histogram *self = histogram_of(object);
	size_t range = seconds > bounds[6] ? 7 : 0;

	while (range < BOUNDS && seconds > bounds[range]) {
		range++;
	}
	self->counts[range]++;
	self->sum += seconds;
	self->max = MAX(self->max, seconds);
}

ZEND_METHOD(Hearth_Internal_Histogram, record)
{
	double seconds;

	ZEND_PARSE_PARAMETERS_START(1, 1)
		Z_PARAM_DOUBLE(seconds)
	ZEND_PARSE_PARAMETERS_END();
	hearth_histogram_record(Z_OBJ_P(ZEND_THIS), seconds);
}

ZEND_METHOD(Hearth_Internal_Histogram, count)
{
	histogram *self = histogram_of(Z_OBJ_P(ZEND_THIS));
	zend_long count = 0;

	ZEND_PARSE_PARAMETERS_NONE();
	for (size_t range = 0; range <= BOUNDS; range++) {
		count += self->counts[range];
	}
	RETURN_LONG(count);
}

ZEND_METHOD(Hearth_Internal_Histogram, toArray)
{
	histogram *self = histogram_of(Z_OBJ_P(ZEND_THIS));
	zend_long count = 0;
	zval buckets;

	ZEND_PARSE_PARAMETERS_NONE();
	array_init(&buckets);
	for (size_t range = 0; range <= BOUNDS; range++) {
		zend_string *bound = range < BOUNDS ? zend_double_to_str(bounds[range]) : zend_string_init(ZEND_STRL("+Inf"), 0);

		count += self->counts[range];
		add_assoc_long_ex(&buckets, ZSTR_VAL(bound), ZSTR_LEN(bound), count);
		zend_string_release(bound);
	}
	array_init(return_value);
	add_assoc_long(return_value, "count", count);
	add_assoc_double(return_value, "sum", self->sum);
	add_assoc_double(return_value, "max", self->max);
	add_assoc_zval(return_value, "buckets", &buckets);
}

ZEND_METHOD(Hearth_Internal_Histogram, report)
{
	histogram *self = histogram_of(Z_OBJ_P(ZEND_THIS));
	zval list, counts;

	ZEND_PARSE_PARAMETERS_NONE();
	array_init(&list);
	array_init(&counts);
	for (size_t range = 0; range <= BOUNDS; range++) {
		if (range < BOUNDS) {
			add_next_index_double(&list, bounds[range]);
		}
		add_next_index_long(&counts, self->counts[range]);
	}
	array_init(return_value);
	add_assoc_zval(return_value, "bounds", &list);
	add_assoc_zval(return_value, "counts", &counts);
	add_assoc_double(return_value, "sum", self->sum);
	add_assoc_double(return_value, "max", self->max);
}

/* ---- registration ---- */

void hearth_register_histogram(void)
{
	hearth_histogram_ce = hearth_register_class("Hearth\\Internal\\Histogram", class_Hearth_Internal_Histogram_methods, create, &handlers, XtOffsetOf(histogram, std));
}
