/* Connections and streams that a task uses while it waits: see task/in_use.c. */
#ifndef HEARTH_IN_USE_H
#define HEARTH_IN_USE_H

#include "compat.h"
#include "hearth.h"
#include "task/marks.h"

/* A connection or stream that a task uses while it waits. */
typedef struct hearth_used {
	const void *what;
	zend_object *object;             /* the object that the call is made on, if there is one */
	uint64_t task;
	bool shared;
	bool executes;                   /* the call executes `object`, a statement that streams may be bound to */
	struct hearth_used *next;        /* in the same bucket */
} hearth_used;

typedef struct {
	hearth_used *used;
	uint32_t count, room;
} hearth_use_list;

/* The most objects and streams that one call uses. */
#define HEARTH_MOST_USED 3
/* The most entries for which a task keeps the memory. */
#define HEARTH_KEPT_USES 16

/* Returns the mysqlnd connection of a mysqli object; NULL for others or without a connection: see task/connection.c. */
MYSQLND_CONN_DATA *hearth_mysqli_connection(zend_object *object);
/* Returns libpq's connection of a PgSql\Connection, else NULL. */
const void *hearth_pgsql_connection(zend_object *object);
/*
 * Whether there are statements, results or large objects of the connection which need the object, a mysqli or PgSql\Connection, but hold
 * no reference to it.
 */
bool hearth_connection_has_children(zend_object *object);
/* Whether the call executes a statement with what has been bound to it, streams too: see task/connection.c. */
bool hearth_executes_bound(zend_execute_data *call);
/* Whether the stream is bound to this statement, which is being executed. */
bool hearth_binds(zend_object *statement, const void *stream);
/* Returns an array with the bound streams as elements, which owns them; NULL if there are none. */
zend_array *hearth_bound_hold(zend_object *statement);
/* Whether the object is a PDO statement. */
bool hearth_is_pdo_statement(const zend_object *object);
/* task/bound_variables.c */
typedef struct hearth_bound_variables hearth_bound_variables;
/* Gives a PDO statement references of its own in place of those that are bound to it; NULL if there are none. */
hearth_bound_variables *hearth_bound_replace(zend_object *statement);
void hearth_bound_put_back(zend_object *statement, hearth_bound_variables *variables);
/* task/in_use_targets.c: the object that the call is made on; NULL if there is none. */
zend_object *hearth_use_object(zend_execute_data *call);
/* Collects the connections and streams that the call is made on; returns how many. */
uint32_t hearth_use_collect(zend_execute_data *call, const void *found[HEARTH_MOST_USED]);
/* Returns the connection or stream that the call is made on; NULL if there is none. */
const void *hearth_used_by(zend_execute_data *call);
/* Whether tasks wait for a connection of this class only inside calls on its object. */
bool hearth_waits_in_its_calls(const zend_class_entry *ce);
/* Whether calls on an object of this class and its iterations are covered: see task/in_use_functions.c. */
bool hearth_use_covers(const zend_class_entry *ce);
void hearth_connections_end(void);
/* Called before the running task is left: what its calls use is in use until hearth_use_ends. */
void hearth_use_begins(hearth_task *task);
void hearth_use_ends(hearth_task *task);
/*
 * Adds what the calls use from the running one down to `bottom`, which it was called from: the call that waits, and the calls
 * that run the PHP code around it, be that a callback, a constructor, an error handler or a stream's wrapper.
 */
void hearth_use_add_calls(hearth_use_list *list, hearth_marks *marks, const zend_execute_data *bottom);
/* Ends the use of everything in the list, which is empty then. */
void hearth_use_leave(hearth_use_list *list);

/* The number of things that tasks use. */
extern uint32_t hearth_uses;
/* Returns the other task that uses the connection; 0 if there is none. */
uint64_t hearth_use_user_of(const void *what);
/* Whether any task uses the connection while it waits. */
bool hearth_use_any(const void *what);

/* task/in_use_calls.c */
/*
 * Adds what the running task's calls use, from that one down to `bottom`; it is not in use by that. Returns whether one of them may
 * have marked values (see task/marks.c), and whether one is a method without an owner of its object (see task/kept_values.c).
 */
enum { HEARTH_CALLS_MARK = 1, HEARTH_CALLS_UNOWNED = 2 };
unsigned hearth_use_list_calls(hearth_use_list *list, const zend_execute_data *from, const zend_execute_data *bottom);
/* The arguments that select-like functions take arrays in. */
#define HEARTH_USE_ARRAYS 3
/* Returns the argument if it is an array, else NULL. */
HashTable *hearth_use_array(zend_execute_data *call, uint32_t number);

/* task/in_use_kept.c: the number of objects that are kept because their connection was in use when they were dropped. */
extern uint32_t hearth_kept;
void hearth_kept_watch(void);
/* Whether a word of a table of handlers is the function that keeps objects: the first object of a class puts it there. */
bool hearth_kept_is_handler(uint64_t word);
void hearth_kept_begin(void);
/* Called at the end of a use. Releases the objects whose connection no waiting task uses, nor a call from that one down. */
void hearth_kept_release(const zend_execute_data *from);
/* Called when the engine has freed all objects. */
void hearth_kept_forget(void);

/* task/in_use_elements.c */
void hearth_elements_begin(void);
/* Watches the writes to elements of objects with these handlers, which can be written to. */
void hearth_elements_watch(zend_object_handlers *handlers);
/* Whether a word of a table of handlers is a function that watches. */
bool hearth_elements_is_handler(uint64_t word);

/* task/inside.h */
typedef struct hearth_inside hearth_inside;
/* Returns the next place where `call` of the running task is inside an extension, after that one; NULL at the end. */
const hearth_inside *hearth_inside_of(const zend_execute_data *call, const hearth_inside *after);
/* Returns what is used there; NULL if it is no connection. */
const void *hearth_inside_connection(const hearth_inside *inside, zend_object **object);

/* task/iteration.c */
void hearth_iterations_watch(void);
/* task/ssh2_urls.c */
void hearth_ssh2_urls_watch(void);
/* task/ssh2_disconnect.c */
void hearth_ssh2_disconnect_watch(void);
/* task/dba.c */
void hearth_dba_watch(void);
/* task/ldap_rebind.c. Called before the handlers of functions are intercepted. */
void hearth_ldap_rebind_watch(void);
/* task/memcache.c: the number of connections that may be left without an owner. */
extern uint32_t hearth_memcache_opened;
void hearth_memcache_watch(void);
/* Closes those that have none. */
void hearth_memcache_close(void);
/* task/redis_context.c: the number of contexts that may be left without an owner. */
extern uint32_t hearth_redis_contexts;
void hearth_redis_contexts_watch(void);
/* Releases those that are. */
void hearth_redis_contexts_release(void);

/* task/in_use_fibers.c */
/* Frees what a broken task used. */
void hearth_use_forget(hearth_task *task);
/* Forgets the stack of `context`, which has been destroyed. */
void hearth_use_forget_stack(const zend_fiber_context *context);

#endif
