/* The files behind php://temp and tmpfile(). */
#ifndef HEARTH_TEMPORARY_FILES_H
#define HEARTH_TEMPORARY_FILES_H

#include "compat.h"

/* Removes the name of the stream's file. The stream stays open: other code may still read from it. */
void hearth_unlink_backing(php_stream *stream);

#endif
