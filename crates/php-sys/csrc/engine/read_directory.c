/*
 * Reading a directory of a stream wrapper that is written in PHP. Where its dir_readdir() throws, the engine takes the missing result for an empty name, and
 * scandir() asks for the next one until no memory is left. In `php` this takes a wrapper that throws; here every wait in one that is ended early may cause it.
 *
 * The program's function stands before that of libphp, which calls it by its name.
 */
#include "engine/engine.h"

PHPAPI php_stream_dirent *_php_stream_readdir(php_stream *directory, php_stream_dirent *entry)
{
	const zend_object *before = EG(exception);

	if (php_stream_read(directory, (char *) entry, sizeof *entry) != sizeof *entry || UNEXPECTED(EG(exception) != before)) {
		return NULL;
	}
	return entry;
}

/* The linker keeps what the program itself refers to. */
void hearth_read_directory_hook(void)
{
	static php_stream_dirent *(*volatile const ours)(php_stream *, php_stream_dirent *) = _php_stream_readdir;

	(void) ours;
}
