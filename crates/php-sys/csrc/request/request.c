/* The class Hearth\Request: a view of the request that reads each part only when it is asked for. */
#include "engine/engine.h"
#include "request/request.h"
#include "request/request_arginfo.h"

zend_class_entry *hearth_request_ce;
static zend_object_handlers handlers;

enum { REQUEST_METHOD, REQUEST_TARGET, REQUEST_PATH, REQUEST_QUERY, REQUEST_PROTOCOL };

typedef hearth_request_object request_object;

static request_object *self_of(zend_object *object)
{
	return (request_object *) ((char *) object - XtOffsetOf(request_object, std));
}

/* Allocates an object without setting its properties. Zeros are undefined values. */
static zend_object *allocate(zend_class_entry *ce)
{
	return hearth_object_new(ce, &handlers, sizeof(request_object));
}

static zend_object *create(zend_class_entry *ce)
{
	zend_object *object = allocate(ce);

	object_properties_init(object, ce);
	return object;
}

static void destroy(zend_object *object)
{
	request_object *self = self_of(object);

	zval_ptr_dtor(&self->query);
	zval_ptr_dtor(&self->cookies);
	zval_ptr_dtor(&self->attributes);
	if (self->request) {
		hearth_on_request_release(self->request);
	}
	zend_object_std_dtor(object);
}

static zend_object *duplicate(zend_object *object)
{
	request_object *from = self_of(object), *to = self_of(create(object->ce));

	to->request = from->request;
	hearth_on_request_retain(to->request);
	ZVAL_COPY(&to->query, &from->query);
	ZVAL_COPY(&to->cookies, &from->cookies);
	ZVAL_COPY(&to->attributes, &from->attributes);
	zend_objects_clone_members(&to->std, object);
	return &to->std;
}

/* Common methods and protocols, as interned strings. */
enum { COMMON_GET, COMMON_POST, COMMON_HEAD, COMMON_HTTP_1_1, COMMON_HTTP_1_0, COMMON_COUNT };
static zend_string *common[COMMON_COUNT];
static const char *const common_text[COMMON_COUNT] = {"GET", "POST", "HEAD", "HTTP/1.1", "HTTP/1.0"};

static void make_common(void)
{
	for (size_t i = 0; i < COMMON_COUNT; i++) {
		common[i] = zend_string_init_interned(common_text[i], strlen(common_text[i]), 1);
	}
}

static void set_method(zval *property, hearth_str method)
{
	if (method.len == 3 && memcmp(method.ptr, "GET", 3) == 0) {
		ZVAL_INTERNED_STR(property, common[COMMON_GET]);
	} else if (method.len == 4 && memcmp(method.ptr, "POST", 4) == 0) {
		ZVAL_INTERNED_STR(property, common[COMMON_POST]);
	} else if (method.len == 4 && memcmp(method.ptr, "HEAD", 4) == 0) {
		ZVAL_INTERNED_STR(property, common[COMMON_HEAD]);
	} else {
		ZVAL_STRINGL(property, method.ptr, method.len);
	}
}

static void set_slot(zend_object *object, int slot, hearth_str value)
{
	zval *property = OBJ_PROP_NUM(object, slot);

	ZVAL_STRINGL_FAST(property, value.ptr ? value.ptr : "", value.len);
}

/*
 * Returns the object of the running request. Until the request ends, the object uses the reference of the
 * request's state. It only refers to strings, so it is part of no cycle, and the garbage collector need not look
 * at it each time a handler returns.
 */
zend_object *hearth_request_object_new(void *request)
{
	zend_object *object = allocate(hearth_request_ce);
	hearth_request_head head;

	GC_ADD_FLAGS(object, GC_NOT_COLLECTABLE);
	hearth_on_head(request, &head);
	self_of(object)->request = request;
	for (int slot = REQUEST_METHOD; slot <= REQUEST_PROTOCOL; slot++) {
		Z_PROP_FLAG_P(OBJ_PROP_NUM(object, slot)) = 0;
	}
	set_method(OBJ_PROP_NUM(object, REQUEST_METHOD), head.method);
	set_slot(object, REQUEST_TARGET, head.target);
	if (head.path.len == head.target.len) {
		ZVAL_COPY(OBJ_PROP_NUM(object, REQUEST_PATH), OBJ_PROP_NUM(object, REQUEST_TARGET));
	} else {
		set_slot(object, REQUEST_PATH, head.path);
	}
	set_slot(object, REQUEST_QUERY, head.query);
	ZVAL_INTERNED_STR(OBJ_PROP_NUM(object, REQUEST_PROTOCOL),
		common[head.protocol_number == 1000 ? COMMON_HTTP_1_0 : COMMON_HTTP_1_1]);
	return object;
}

/* Called when the request has ended: an object that code still holds needs a reference of its own. */
void hearth_request_object_end(zend_object *object)
{
	request_object *self = self_of(object);

	if (GC_REFCOUNT(object) > 1) {
		hearth_on_request_retain(self->request);
	} else {
		self->request = NULL;
	}
	OBJ_RELEASE(object);
}

static hearth_str str_of(zend_string *string)
{
	return (hearth_str){ZSTR_VAL(string), ZSTR_LEN(string)};
}

/* Returns one value of an array; without a name the whole array; or the default. */
static void return_value_of(zval *array, zend_string *name, zval *fallback, zval *return_value)
{
	zval *value;

	if (!name) {
		RETURN_COPY(array);
	}
	if (Z_TYPE_P(array) == IS_ARRAY && (value = zend_symtable_find(Z_ARRVAL_P(array), name))) {
		RETURN_COPY_DEREF(value);
	}
	if (fallback) {
		RETURN_COPY(fallback);
	}
}

#define HEARTH_PARSE_NAME_DEFAULT(name, fallback) \
	zend_string *name = NULL; \
	zval *fallback = NULL; \
	ZEND_PARSE_PARAMETERS_START(0, 2) \
		Z_PARAM_OPTIONAL \
		Z_PARAM_STR_OR_NULL(name) \
		Z_PARAM_ZVAL(fallback) \
	ZEND_PARSE_PARAMETERS_END()

ZEND_METHOD(Hearth_Request, query)
{
	request_object *self = self_of(Z_OBJ_P(ZEND_THIS));
	HEARTH_PARSE_NAME_DEFAULT(name, fallback);

	if (Z_TYPE(self->query) == IS_UNDEF) {
		zend_string *text = Z_STR_P(OBJ_PROP_NUM(Z_OBJ_P(ZEND_THIS), REQUEST_QUERY));

		array_init(&self->query);
		hearth_parse_input(PARSE_STRING, estrndup(ZSTR_VAL(text), ZSTR_LEN(text)), &self->query);
	}
	return_value_of(&self->query, name, fallback, return_value);
}

ZEND_METHOD(Hearth_Request, header)
{
	zend_string *name;
	hearth_str value;

	ZEND_PARSE_PARAMETERS_START(1, 1)
		Z_PARAM_STR(name)
	ZEND_PARSE_PARAMETERS_END();
	if (hearth_on_header(self_of(Z_OBJ_P(ZEND_THIS))->request, str_of(name), &value)) {
		RETURN_STRINGL_FAST(value.ptr, value.len);
	}
}

ZEND_METHOD(Hearth_Request, headers)
{
	void *request = self_of(Z_OBJ_P(ZEND_THIS))->request;
	hearth_header *headers;
	size_t count;

	ZEND_PARSE_PARAMETERS_NONE();
	count = hearth_on_headers(request, NULL, 0);
	headers = safe_emalloc(count + 1, sizeof *headers, 0);
	hearth_on_headers(request, headers, count);
	array_init(return_value);
	for (size_t i = 0; i < count; i++) {
		zend_string *name = zend_string_alloc(headers[i].name.len, 0);
		zval *list, fresh;

		zend_str_tolower_copy(ZSTR_VAL(name), headers[i].name.ptr, headers[i].name.len);
		list = zend_symtable_find(Z_ARRVAL_P(return_value), name);
		if (!list) {
			array_init(&fresh);
			list = zend_symtable_update(Z_ARRVAL_P(return_value), name, &fresh);
		}
		zend_string_release(name);
		add_next_index_stringl(list, headers[i].value.ptr, headers[i].value.len);
	}
	efree(headers);
}

static void parse_cookies(request_object *self)
{
	hearth_str line;

	if (hearth_on_header(self->request, (hearth_str){"cookie", 6}, &line)) {
		hearth_parse_cookies(line, &self->cookies);
	} else {
		array_init(&self->cookies);
	}
}

ZEND_METHOD(Hearth_Request, cookie)
{
	request_object *self = self_of(Z_OBJ_P(ZEND_THIS));
	HEARTH_PARSE_NAME_DEFAULT(name, fallback);

	if (Z_TYPE(self->cookies) == IS_UNDEF) {
		parse_cookies(self);
	}
	return_value_of(&self->cookies, name, fallback, return_value);
}

ZEND_METHOD(Hearth_Request, form)
{
	request_object *self = self_of(Z_OBJ_P(ZEND_THIS));
	HEARTH_PARSE_NAME_DEFAULT(name, fallback);

	if (hearth_request_is_running(self->request)) {
		hearth_superglobals_need(true);
		if (EG(exception)) {
			return;
		}
		return_value_of(&PG(http_globals)[TRACK_VARS_POST], name, fallback, return_value);
	}
}

ZEND_METHOD(Hearth_Request, files)
{
	request_object *self = self_of(Z_OBJ_P(ZEND_THIS));

	ZEND_PARSE_PARAMETERS_NONE();
	if (hearth_request_is_running(self->request)) {
		hearth_superglobals_need(true);
		if (EG(exception)) {
			return;
		}
		if (Z_TYPE(PG(http_globals)[TRACK_VARS_FILES]) == IS_ARRAY) {
			RETURN_COPY(&PG(http_globals)[TRACK_VARS_FILES]);
		}
		RETURN_EMPTY_ARRAY();
	}
}

ZEND_METHOD(Hearth_Request, client)
{
	hearth_str address;

	ZEND_PARSE_PARAMETERS_NONE();
	address = hearth_on_client(self_of(Z_OBJ_P(ZEND_THIS))->request).address;
	RETURN_STRINGL(address.ptr, address.len);
}

ZEND_METHOD(Hearth_Request, isSecure)
{
	ZEND_PARSE_PARAMETERS_NONE();
	RETURN_BOOL(hearth_on_client(self_of(Z_OBJ_P(ZEND_THIS))->request).secure);
}

ZEND_METHOD(Hearth_Request, attribute)
{
	request_object *self = self_of(Z_OBJ_P(ZEND_THIS));
	zend_string *name;
	zval *fallback = NULL;

	ZEND_PARSE_PARAMETERS_START(1, 2)
		Z_PARAM_STR(name)
		Z_PARAM_OPTIONAL
		Z_PARAM_ZVAL(fallback)
	ZEND_PARSE_PARAMETERS_END();
	return_value_of(&self->attributes, name, fallback, return_value);
}

ZEND_METHOD(Hearth_Request, withAttribute)
{
	request_object *copy;
	zend_string *name;
	zval *value;

	ZEND_PARSE_PARAMETERS_START(2, 2)
		Z_PARAM_STR(name)
		Z_PARAM_ZVAL(value)
	ZEND_PARSE_PARAMETERS_END();
	RETVAL_OBJ(duplicate(Z_OBJ_P(ZEND_THIS)));
	copy = self_of(Z_OBJ_P(return_value));
	if (Z_TYPE(copy->attributes) == IS_UNDEF) {
		array_init(&copy->attributes);
	}
	SEPARATE_ARRAY(&copy->attributes);
	Z_TRY_ADDREF_P(value);
	zend_symtable_update(Z_ARRVAL(copy->attributes), name, value);
}

ZEND_METHOD(Hearth_Request, __construct)
{
}

static void declare(const char *name)
{
	zend_string *key = zend_string_init_interned(name, strlen(name), 1);
	zval none;

	ZVAL_UNDEF(&none);
	zend_declare_typed_property(hearth_request_ce, key, &none, ZEND_ACC_PUBLIC | ZEND_ACC_READONLY, NULL,
		(zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING));
}

void hearth_register_request(void)
{
	make_common();
	hearth_request_ce = hearth_register_class("Hearth\\Request", class_Hearth_Request_methods, create, &handlers, XtOffsetOf(request_object, std));
	handlers.free_obj = destroy;
	handlers.clone_obj = duplicate;
	declare("method");
	declare("target");
	declare("path");
	declare("queryString");
	declare("protocol");
}
