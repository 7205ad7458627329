/*
 * URLs such as "ssh2.sftp://Resource id #5/file": they name a session of ssh2, or its SFTP, by the number of the resource. The functions
 * that are given one, such as fopen() and file_get_contents(), have no connection among their arguments, so the extension's wrappers are
 * wrapped.
 */
#include "engine/intercept.h"
#include "task/connection_child.h"
#include "task/inside.h"

typedef struct {
	php_stream_wrapper own;
	php_stream_wrapper *original;
	php_stream_wrapper_ops ops;
} ssh2_wrapper;

static const php_stream_wrapper_ops *original_of(php_stream_wrapper *wrapper)
{
	return ((ssh2_wrapper *) wrapper)->original->wops;
}

static zval *option(php_stream_context *context, const char *name)
{
	return context ? php_stream_context_get_option(context, "ssh2", name) : NULL;
}

/* Returns the resource that the URL names, as the extension looks for it; NULL if the URL is that of a new connection. */
static zval *named(const char *url, php_stream_context *context)
{
	static const char words[] = "Resource id #";
	const char *host = strstr(url, "://");
	zval *resource;

	host = host ? host + 3 : "/";
	host += strncmp(host, words, sizeof words - 1) == 0 ? sizeof words - 1 : 0;
	if (*host != '/') {
		return zend_hash_index_find(&EG(regular_list), (zend_ulong) ZEND_STRTOL(host, NULL, 10));
	}
	resource = option(context, "sftp");
	return resource ? resource : option(context, "session");
}

/* Returns NULL if the call is refused; an exception is pending then. */
static hearth_inside *enter(const char *url, php_stream_context *context)
{
	zval *resource = hearth_current ? named(url, context) : NULL;
	const void *what = resource && Z_TYPE_P(resource) == IS_RESOURCE ? hearth_connection_of_stream(resource) : NULL;
	hearth_inside *inside;

	if (hearth_inside_may_refuse() && hearth_inside_refuses(EG(current_execute_data)->func, what)) {
		return NULL;
	}
	/* In the heap, where a bailout leaves it readable. */
	inside = ecalloc(1, sizeof *inside);
	inside->what = what;
	hearth_inside_enter(inside);
	return inside;
}

static void leave(hearth_inside *inside)
{
	hearth_inside_leave(inside);
	efree(inside);
}

typedef php_stream *(*opener)(php_stream_wrapper *wrapper, const char *url, const char *mode, int options, zend_string **opened,
	php_stream_context *context STREAMS_DC);

static php_stream *open_by(opener original, php_stream_wrapper *wrapper, const char *url, const char *mode, int options,
	zend_string **opened, php_stream_context *context STREAMS_DC)
{
	hearth_inside *inside = enter(url, context);
	php_stream *stream = NULL;

	if (inside) {
		stream = original(((ssh2_wrapper *) wrapper)->original, url, mode, options, opened, context STREAMS_REL_CC);
		leave(inside);
	}
	return stream;
}

static php_stream *on_open(php_stream_wrapper *wrapper, const char *url, const char *mode, int options, zend_string **opened,
	php_stream_context *context STREAMS_DC)
{
	return open_by(original_of(wrapper)->stream_opener, wrapper, url, mode, options, opened, context STREAMS_REL_CC);
}

static php_stream *on_open_directory(php_stream_wrapper *wrapper, const char *url, const char *mode, int options, zend_string **opened,
	php_stream_context *context STREAMS_DC)
{
	return open_by(original_of(wrapper)->dir_opener, wrapper, url, mode, options, opened, context STREAMS_REL_CC);
}

/* Calls a function of the wrapper; its result is `otherwise` if it is refused. */
#define BETWEEN(url, context, otherwise, call) \
	hearth_inside *inside = enter(url, context); \
	int result = otherwise; \
	if (inside) { \
		result = call; \
		leave(inside); \
	} \
	return result

static int on_stat(php_stream_wrapper *wrapper, const char *url, int flags, php_stream_statbuf *facts, php_stream_context *context)
{
	BETWEEN(url, context, -1, original_of(wrapper)->url_stat(wrapper, url, flags, facts, context));
}

static int on_unlink(php_stream_wrapper *wrapper, const char *url, int options, php_stream_context *context)
{
	BETWEEN(url, context, 0, original_of(wrapper)->unlink(wrapper, url, options, context));
}

static int on_rename(php_stream_wrapper *wrapper, const char *from, const char *to, int options, php_stream_context *context)
{
	BETWEEN(from, context, 0, original_of(wrapper)->rename(wrapper, from, to, options, context));
}

static int on_mkdir(php_stream_wrapper *wrapper, const char *url, int mode, int options, php_stream_context *context)
{
	BETWEEN(url, context, 0, original_of(wrapper)->stream_mkdir(wrapper, url, mode, options, context));
}

static int on_rmdir(php_stream_wrapper *wrapper, const char *url, int options, php_stream_context *context)
{
	BETWEEN(url, context, 0, original_of(wrapper)->stream_rmdir(wrapper, url, options, context));
}

/* ---- setup ---- */

static php_stream_wrapper *wrap(php_stream_wrapper *original)
{
	ssh2_wrapper *wrapper = pecalloc(1, sizeof *wrapper, 1);
	php_stream_wrapper_ops *ops = &wrapper->ops;

	wrapper->own = *original;
	wrapper->original = original;
	*ops = *original->wops;
	ops->stream_opener = ops->stream_opener ? on_open : NULL;
	ops->dir_opener = ops->dir_opener ? on_open_directory : NULL;
	ops->url_stat = ops->url_stat ? on_stat : NULL;
	ops->unlink = ops->unlink ? on_unlink : NULL;
	ops->rename = ops->rename ? on_rename : NULL;
	ops->stream_mkdir = ops->stream_mkdir ? on_mkdir : NULL;
	ops->stream_rmdir = ops->stream_rmdir ? on_rmdir : NULL;
	wrapper->own.wops = ops;
	return &wrapper->own;
}

void hearth_ssh2_urls_watch(void)
{
	zend_string *protocol;
	zval *place;

	ZEND_HASH_FOREACH_STR_KEY_VAL(php_stream_get_url_stream_wrappers_hash_global(), protocol, place) {
		if (protocol && zend_string_starts_with_literal(protocol, "ssh2.")) {
			Z_PTR_P(place) = wrap(Z_PTR_P(place));
		}
	} ZEND_HASH_FOREACH_END();
}
