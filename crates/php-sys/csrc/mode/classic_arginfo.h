/* This is a generated file, edit the .stub.php file instead.
 * Stub hash: 665631bf53cba640cdc4df37c6c1b8de9e754b36 */

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_fastcgi_finish_request, 0, 0, _IS_BOOL, 0)
ZEND_END_ARG_INFO()


ZEND_FUNCTION(Hearth_fastcgi_finish_request);


static const zend_function_entry ext_functions[] = {
	ZEND_FALIAS(fastcgi_finish_request, Hearth_fastcgi_finish_request, arginfo_fastcgi_finish_request)
	ZEND_FE_END
};
