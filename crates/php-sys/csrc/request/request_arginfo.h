/* This is a generated file, edit the .stub.php file instead.
 * Stub hash: badee0696bbe73708435998762a76f2f6b697e9f */

ZEND_BEGIN_ARG_INFO_EX(arginfo_class_Hearth_Request___construct, 0, 0, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Hearth_Request_query, 0, 0, IS_MIXED, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, name, IS_STRING, 1, "null")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, default, IS_MIXED, 0, "null")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Hearth_Request_header, 0, 1, IS_STRING, 1)
	ZEND_ARG_TYPE_INFO(0, name, IS_STRING, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Hearth_Request_headers, 0, 0, IS_ARRAY, 0)
ZEND_END_ARG_INFO()

#define arginfo_class_Hearth_Request_cookie arginfo_class_Hearth_Request_query

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Hearth_Request_body, 0, 0, IS_STRING, 0)
ZEND_END_ARG_INFO()

#define arginfo_class_Hearth_Request_stream arginfo_class_Hearth_Request___construct

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Hearth_Request_json, 0, 0, IS_MIXED, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, flags, IS_LONG, 0, "0")
ZEND_END_ARG_INFO()

#define arginfo_class_Hearth_Request_form arginfo_class_Hearth_Request_query

#define arginfo_class_Hearth_Request_files arginfo_class_Hearth_Request_headers

#define arginfo_class_Hearth_Request_client arginfo_class_Hearth_Request_body

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Hearth_Request_isSecure, 0, 0, _IS_BOOL, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Hearth_Request_attribute, 0, 1, IS_MIXED, 0)
	ZEND_ARG_TYPE_INFO(0, name, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, default, IS_MIXED, 0, "null")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Hearth_Request_withAttribute, 0, 2, IS_STATIC, 0)
	ZEND_ARG_TYPE_INFO(0, name, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO(0, value, IS_MIXED, 0)
ZEND_END_ARG_INFO()


ZEND_METHOD(Hearth_Request, __construct);
ZEND_METHOD(Hearth_Request, query);
ZEND_METHOD(Hearth_Request, header);
ZEND_METHOD(Hearth_Request, headers);
ZEND_METHOD(Hearth_Request, cookie);
ZEND_METHOD(Hearth_Request, body);
ZEND_METHOD(Hearth_Request, stream);
ZEND_METHOD(Hearth_Request, json);
ZEND_METHOD(Hearth_Request, form);
ZEND_METHOD(Hearth_Request, files);
ZEND_METHOD(Hearth_Request, client);
ZEND_METHOD(Hearth_Request, isSecure);
ZEND_METHOD(Hearth_Request, attribute);
ZEND_METHOD(Hearth_Request, withAttribute);


static const zend_function_entry class_Hearth_Request_methods[] = {
	ZEND_ME(Hearth_Request, __construct, arginfo_class_Hearth_Request___construct, ZEND_ACC_PRIVATE)
	ZEND_ME(Hearth_Request, query, arginfo_class_Hearth_Request_query, ZEND_ACC_PUBLIC)
	ZEND_ME(Hearth_Request, header, arginfo_class_Hearth_Request_header, ZEND_ACC_PUBLIC)
	ZEND_ME(Hearth_Request, headers, arginfo_class_Hearth_Request_headers, ZEND_ACC_PUBLIC)
	ZEND_ME(Hearth_Request, cookie, arginfo_class_Hearth_Request_cookie, ZEND_ACC_PUBLIC)
	ZEND_ME(Hearth_Request, body, arginfo_class_Hearth_Request_body, ZEND_ACC_PUBLIC)
	ZEND_ME(Hearth_Request, stream, arginfo_class_Hearth_Request_stream, ZEND_ACC_PUBLIC)
	ZEND_ME(Hearth_Request, json, arginfo_class_Hearth_Request_json, ZEND_ACC_PUBLIC)
	ZEND_ME(Hearth_Request, form, arginfo_class_Hearth_Request_form, ZEND_ACC_PUBLIC)
	ZEND_ME(Hearth_Request, files, arginfo_class_Hearth_Request_files, ZEND_ACC_PUBLIC)
	ZEND_ME(Hearth_Request, client, arginfo_class_Hearth_Request_client, ZEND_ACC_PUBLIC)
	ZEND_ME(Hearth_Request, isSecure, arginfo_class_Hearth_Request_isSecure, ZEND_ACC_PUBLIC)
	ZEND_ME(Hearth_Request, attribute, arginfo_class_Hearth_Request_attribute, ZEND_ACC_PUBLIC)
	ZEND_ME(Hearth_Request, withAttribute, arginfo_class_Hearth_Request_withAttribute, ZEND_ACC_PUBLIC)
	ZEND_FE_END
};
