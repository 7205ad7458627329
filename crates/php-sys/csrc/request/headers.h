/* The headers of one response, as passed to Rust. */
#ifndef HEARTH_HEADERS_H
#define HEARTH_HEADERS_H

#include "compat.h"
#include "hearth.h"

typedef struct {
	hearth_header stack[32];
	hearth_header *list;
	size_t count, capacity;
} hearth_header_list;

void hearth_headers_init(hearth_header_list *headers);
void hearth_headers_add(hearth_header_list *headers, hearth_str name, hearth_str value);
/* Adds the fields that header() and setcookie() set, except names that `response` (name => values) sets; it may be NULL. */
void hearth_headers_add_sapi(hearth_header_list *headers, zend_array *response);
void hearth_headers_free(hearth_header_list *headers);

/*
 * Whether the name consists of letters, digits and hyphens. PHP does not see other names, as behind nginx and
 * Apache: HTTP_X_FORWARDED_FOR must not come from `X_Forwarded_For`, which no proxy in front knows to remove.
 */
bool hearth_header_is_plain(hearth_str name);

extern const zend_function_entry *const hearth_header_functions;

#endif
