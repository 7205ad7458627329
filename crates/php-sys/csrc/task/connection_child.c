/*
 * What an extension has made of a connection and asks it for, without being the connection: cursors, channels, large objects. The
 * connection stands in the extension's own structure, which has no header. The places are those of PHP 8.1 to 8.4, and of the
 * versions of ssh2 and mongodb that is_known() lists: 1.3, 1.4, 1.15 and 1.20 by their sources, 2.0 by the test. Of another
 * version nothing is read.
 */
#include "engine/intercept.h"
#include "task/connection_child.h"

/* How the connection stands there. */
typedef enum {
	BY_ADDRESS,     /* a pointer, which is the connection's identity */
	AS_VALUE,       /* a zval with the connection's object */
	AS_RESOURCE,    /* a pointer to the connection's resource, or that of another child */
} form;

typedef struct {
	const char *name;
	uint32_t word;  /* the place in the structure, in words */
	form form;
	const void *kind; /* the class; or the type of resource, plus one; NULL: the extension is not loaded */
} child;

static child objects[] = {
	{.name = "pgsql\\lob", .word = 0, .form = BY_ADDRESS},
	{.name = "mongodb\\driver\\cursor", .word = 1, .form = AS_VALUE},
	{.name = "mongodb\\driver\\server", .word = 0, .form = AS_VALUE},
	{.name = "mongodb\\driver\\session", .word = 1, .form = AS_VALUE},
	{.name = "mongodb\\driver\\clientencryption", .word = 1, .form = AS_VALUE},
};

static child resources[] = {
	{.name = "SSH2 SFTP", .word = 0, .form = BY_ADDRESS},
	{.name = "SSH2 Listener", .word = 0, .form = BY_ADDRESS},
	{.name = "SSH2 Publickey Subsystem", .word = 0, .form = BY_ADDRESS},
};

/* By the label of their functions. */
static const child streams[] = {
	{.name = "SSH2 Channel", .word = 3, .form = AS_RESOURCE},
	{.name = "SSH2 SFTP File", .word = 1, .form = AS_RESOURCE},
	{.name = "SSH2 SFTP Directory", .word = 1, .form = AS_RESOURCE},
	{.name = "pdo_pgsql lob stream", .word = 0, .form = AS_VALUE},
};

static const zend_class_entry *pgsql_result, *curl_multi;

#define COUNT(list) (sizeof (list) / sizeof *(list))

static bool has_resources;

/* Whether the extension that has this name in front of its own names is of a version whose structures are known. */
static bool is_known(const char *name)
{
	static const struct { const char *extension, *version; } known[] = {{"ssh2", "1."}, {"mongodb", "1."}, {"mongodb", "2.0."}};
	bool is_php = true;

	for (size_t i = 0; i < COUNT(known); i++) {
		size_t length = strlen(known[i].extension);

		if (strncasecmp(name, known[i].extension, length) == 0) {
			const zend_module_entry *module = zend_hash_str_find_ptr(&module_registry, known[i].extension, length);

			if (module && module->version && strncmp(module->version, known[i].version, strlen(known[i].version)) == 0) {
				return true;
			}
			is_php = false;
		}
	}
	return is_php;
}

static const void *of_value(const zval *value)
{
	return Z_TYPE_P(value) == IS_OBJECT ? hearth_connection_of_object(Z_OBJ_P(value)) : NULL;
}

/* Returns the connection in the structure; NULL if there is none. */
static const void *in(const void *structure, const child *child)
{
	const void *const *place = (const void *const *) structure + child->word;

	switch (child->form) {
		case BY_ADDRESS: return *place;
		case AS_VALUE: return of_value((const zval *) place);
		case AS_RESOURCE: return *place ? hearth_connection_of_resource(*place) : NULL;
	}
	return NULL;
}

const void *hearth_connection_of_child(zend_object *object, const zend_class_entry *ce)
{
	for (size_t i = 0; i < COUNT(objects); i++) {
		if (objects[i].kind == ce) {
			return in((const char *) object - object->handlers->offset, &objects[i]);
		}
	}
	return NULL;
}

const void *hearth_connection_of_resource(const zend_resource *resource)
{
	const void *connection = NULL;

	for (size_t i = 0; has_resources && i < COUNT(resources); i++) {
		if (resource->ptr && resources[i].kind == (const void *) (intptr_t) (resource->type + 1)) {
			connection = in(resource->ptr, &resources[i]);
		}
	}
	return connection ? connection : resource->ptr;
}

const void *hearth_connection_of_child_stream(const php_stream *stream)
{
	const char *label = stream->ops->label;

	/* The labels of ordinary streams begin with neither, but for STDIO. */
	if (EXPECTED((label[0] != 'S' || label[1] != 'S') && (label[0] != 'p' || label[1] != 'd'))) {
		return NULL;
	}
	for (size_t i = 0; i < COUNT(streams); i++) {
		if (strcmp(label, streams[i].name) == 0) {
			return stream->abstract && is_known(label) ? in(stream->abstract, &streams[i]) : NULL;
		}
	}
	return NULL;
}

const void *hearth_connection_of_result(zend_object *result)
{
	const void *connection = NULL;

	if (result->ce == pgsql_result) {
		connection = *(const void *const *) ((const char *) result - result->handlers->offset);
	}
	return connection ? connection : result;
}

bool hearth_gathers(const zend_object *object)
{
	return object->ce == curl_multi;
}

void hearth_children_find(void)
{
	pgsql_result = zend_hash_str_find_ptr(CG(class_table), ZEND_STRL("pgsql\\result"));
	curl_multi = zend_hash_str_find_ptr(CG(class_table), ZEND_STRL("curlmultihandle"));
	for (size_t i = 0; i < COUNT(objects); i++) {
		objects[i].kind = is_known(objects[i].name) ? zend_hash_str_find_ptr(CG(class_table), objects[i].name, strlen(objects[i].name)) : NULL;
	}
	for (size_t i = 0; i < COUNT(resources); i++) {
		int type = zend_fetch_list_dtor_id(resources[i].name);

		if (type > 0 && is_known(resources[i].name)) {
			resources[i].kind = (const void *) (intptr_t) (type + 1);
			has_resources = true;
		}
	}
}
