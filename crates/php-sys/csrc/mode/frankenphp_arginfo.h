/* This is a generated file, edit the .stub.php file instead.
 * Stub hash: 73d87ec1781e2192600d6a7ec99361221a068b61 */

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_frankenphp_handle_request, 0, 1, _IS_BOOL, 0)
	ZEND_ARG_TYPE_INFO(0, callback, IS_CALLABLE, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_frankenphp_finish_request, 0, 0, _IS_BOOL, 0)
ZEND_END_ARG_INFO()

#define arginfo_fastcgi_finish_request arginfo_frankenphp_finish_request

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_frankenphp_request_headers, 0, 0, IS_ARRAY, 0)
ZEND_END_ARG_INFO()

#define arginfo_frankenphp_response_headers arginfo_frankenphp_request_headers


ZEND_FUNCTION(frankenphp_handle_request);
ZEND_FUNCTION(frankenphp_finish_request);
ZEND_FUNCTION(Hearth_getallheaders);
ZEND_FUNCTION(Hearth_apache_response_headers);


static const zend_function_entry ext_functions[] = {
	ZEND_FE(frankenphp_handle_request, arginfo_frankenphp_handle_request)
	ZEND_FE(frankenphp_finish_request, arginfo_frankenphp_finish_request)
	ZEND_FALIAS(fastcgi_finish_request, frankenphp_finish_request, arginfo_fastcgi_finish_request)
	ZEND_FALIAS(frankenphp_request_headers, Hearth_getallheaders, arginfo_frankenphp_request_headers)
	ZEND_FALIAS(frankenphp_response_headers, Hearth_apache_response_headers, arginfo_frankenphp_response_headers)
	ZEND_FE_END
};
