/*
 * Subscribers and loggers of all connections to MongoDB: MongoDB\Driver\Monitoring\addSubscriber() and addLogger(). The driver keeps them
 * until RSHUTDOWN, so in a resident worker those of one request would be told the commands of all others. A request that adds or
 * removes one has tables of its own, which begin with what the entry script added.
 */
#include "engine/replace.h"
#include "state/extensions.h"
#include "task/task.h"

/* Its globals, of the versions that Debian has: 1.15 and 2.0. */
typedef struct {
	char *debug;
	void *debug_file;
	HashTable clients;
	HashTable *request_clients, *subscribers, *managers;
	HashTable *loggers;                  /* only in 2.0 */
} mongodb_globals;

enum { COUNT = HEARTH_BY_VERSION(1, 2) };

/* Where the driver has each table, and that of the entry script. */
static HashTable **places[2], *of_boot[2];

static void own(HashTable **place)
{
	HashTable *shared = *place;

	ALLOC_HASHTABLE(*place);
	zend_hash_init(*place, zend_hash_num_elements(shared), NULL, ZVAL_PTR_DTOR, false);
	zend_hash_copy(*place, shared, zval_add_ref);
}

static void own_all(void)
{
	for (size_t i = 0; hearth_current && i < COUNT; i++) {
		if (*places[i] && *places[i] == of_boot[i]) {
			own(places[i]);
		}
	}
}

/* A destructor finds the tables of the entry script. */
static void release_mongodb(void)
{
	HashTable *all[COUNT];

	for (size_t i = 0; i < COUNT; i++) {
		all[i] = *places[i];
		*places[i] = of_boot[i];
	}
	for (size_t i = 0; i < COUNT; i++) {
		if (all[i] != of_boot[i]) {
			zend_hash_destroy(all[i]);
			FREE_HASHTABLE(all[i]);
		}
	}
}

static zif_handler add_subscriber, remove_subscriber, add_logger, remove_logger;

static void on_add_subscriber(INTERNAL_FUNCTION_PARAMETERS)
{
	own_all();
	add_subscriber(INTERNAL_FUNCTION_PARAM_PASSTHRU);
}

static void on_remove_subscriber(INTERNAL_FUNCTION_PARAMETERS)
{
	own_all();
	remove_subscriber(INTERNAL_FUNCTION_PARAM_PASSTHRU);
}

static void on_add_logger(INTERNAL_FUNCTION_PARAMETERS)
{
	own_all();
	add_logger(INTERNAL_FUNCTION_PARAM_PASSTHRU);
}

static void on_remove_logger(INTERNAL_FUNCTION_PARAMETERS)
{
	own_all();
	remove_logger(INTERNAL_FUNCTION_PARAM_PASSTHRU);
}

void hearth_extension_add_mongodb(void *globals)
{
	mongodb_globals *mongodb = globals;
	uint32_t owner = hearth_extension_owner("mongodb", release_mongodb);

	places[0] = &mongodb->subscribers;
	places[1] = &mongodb->loggers;
	for (size_t i = 0; i < COUNT; i++) {
		of_boot[i] = *places[i];
		HEARTH_ADD(HEARTH_SCOPE_REQUEST, owner, *places[i]);
	}
	hearth_replace_function("mongodb\\driver\\monitoring\\addsubscriber", &add_subscriber, on_add_subscriber);
	hearth_replace_function("mongodb\\driver\\monitoring\\removesubscriber", &remove_subscriber, on_remove_subscriber);
	hearth_replace_function("mongodb\\driver\\monitoring\\addlogger", &add_logger, on_add_logger);
	hearth_replace_function("mongodb\\driver\\monitoring\\removelogger", &remove_logger, on_remove_logger);
}
