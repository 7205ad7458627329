/* This is a generated file, edit the .stub.php file instead.
 * Stub hash: 25bd6f1eb7cd5ba52bfbb652adb92438e0388dd3 */

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_getallheaders, 0, 0, IS_ARRAY, 0)
ZEND_END_ARG_INFO()

#define arginfo_apache_request_headers arginfo_getallheaders

#define arginfo_apache_response_headers arginfo_getallheaders


ZEND_FUNCTION(Hearth_getallheaders);
ZEND_FUNCTION(Hearth_apache_response_headers);


static const zend_function_entry ext_functions[] = {
	ZEND_FALIAS(getallheaders, Hearth_getallheaders, arginfo_getallheaders)
	ZEND_FALIAS(apache_request_headers, Hearth_getallheaders, arginfo_apache_request_headers)
	ZEND_FALIAS(apache_response_headers, Hearth_apache_response_headers, arginfo_apache_response_headers)
	ZEND_FE_END
};
