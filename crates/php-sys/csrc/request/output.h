/* The output of PHP on its way to the client, in both modes: kept until the head leaves, then a stream. */
#ifndef HEARTH_OUTPUT_H
#define HEARTH_OUTPUT_H

#include "compat.h"
#include "hearth.h"

typedef struct {
	smart_str kept;                  /* printed and not sent yet */
	bool streaming;                  /* the head was sent; output follows it */
	bool finished;                   /* the response is complete; further output is dropped */
	bool gone;                       /* the client hung up */
} hearth_output;

/* Appends output; true if so much is kept that the head must leave. */
bool hearth_output_keep(hearth_output *output, const char *text, size_t length);
hearth_str hearth_output_kept(const hearth_output *output);
/* Sends what is kept to a client that has the head. It may wait, and other tasks may print meanwhile. */
void hearth_output_send(hearth_output *output, void *request);
/* End all buffers of the running task, or drop their contents. */
void hearth_buffers_end(void);
void hearth_buffers_drop(void);
/* Returns the status that header() or http_response_code() has set. */
int hearth_output_status(void);
/* Sends the response with the fields of header() and those of `own` (name => values; or NULL), which take precedence. */
void hearth_output_head(void *request, hearth_response *response, zend_array *own);

#endif
