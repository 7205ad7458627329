/*
 * The files behind php://temp and tmpfile(). Each has a name until its stream is closed, although what it holds belongs to the
 * process alone: so they are removed at an end without closing, and a forked worker gets a copy.
 */
#include "engine/engine.h"
#include "engine/temporary_files.h"
#include "hearth.h"

/* Returns -1 for a stream without a descriptor. Leaves position and buffer of the stream as they are. */
static int descriptor_of(php_stream *stream)
{
	int fd;

	if (php_stream_can_cast(stream, PHP_STREAM_AS_FD_FOR_SELECT) != SUCCESS
			|| php_stream_cast(stream, PHP_STREAM_AS_FD_FOR_SELECT | PHP_STREAM_CAST_INTERNAL, (void *) &fd, 0) != SUCCESS) {
		return -1;
	}
	return fd;
}

void hearth_unlink_backing(php_stream *stream)
{
	char link[64], path[MAXPATHLEN];
	ssize_t length;
	int fd = descriptor_of(stream);

	if (fd < 0) {
		return;
	}
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	length = readlink(link, path, sizeof path - 1);
	if (length > 0) {
		path[length] = '\0';
		unlink(path);
	}
}

/*
 * The engine does not record which streams tmpfile() opened; fopen() gives each stream a context. The length of the name
 * differs between versions of PHP.
 */
static bool is_of_tmpfile(const php_stream *stream)
{
	const char *name = stream->orig_path ? strrchr(stream->orig_path, '/') : NULL;

	return stream->ops == &php_stream_stdio_ops && !stream->ctx && strcmp(stream->mode, "r+b") == 0
		&& name && strncmp(name, "/php", 4) == 0 && strlen(name) >= sizeof "/phpXXXXXX" - 1;
}

static bool is_temporary(const php_stream *stream)
{
	return stream->ops == &php_stream_temp_ops || is_of_tmpfile(stream);
}

/* What a worker has of the entry script is a copy without a name, so the entry script's own files stay. */
void hearth_remove_temporary_files(void)
{
	zend_resource *resource;

	zend_try {
		ZEND_HASH_FOREACH_PTR(&EG(regular_list), resource) {
			if (resource && resource->type == php_file_le_stream() && is_temporary(resource->ptr)) {
				hearth_unlink_backing(resource->ptr);
			}
		} ZEND_HASH_FOREACH_END();
	} zend_end_try();
}

bool hearth_is_temporary_file(int fd)
{
	zend_resource *resource;

	ZEND_HASH_FOREACH_PTR(&EG(regular_list), resource) {
		if (resource && resource->type == php_file_le_stream() && is_temporary(resource->ptr)
				&& descriptor_of(resource->ptr) == fd) {
			return true;
		}
	} ZEND_HASH_FOREACH_END();
	return false;
}
