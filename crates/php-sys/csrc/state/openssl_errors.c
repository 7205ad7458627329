/*
 * The queue of errors that OpenSSL keeps for each thread.
 *
 * What a call of one request leaves there, openssl_error_string() of another would tell, and a TLS connection of another would take for
 * its own failure. It lies in the library's memory, so it is read out when a task is left, and filled again when the task goes on.
 */
#include "state/local_symbols.h"

#include <dlfcn.h>
#include <openssl/err.h>

/* A range of state/engine.toml: the codes of a task that waits, up to a 0; memory of malloc(). */
unsigned long *hearth_own_openssl_errors;

/* The functions of the OpenSSL that PHP or an extension has loaded; NULL if none has. */
static struct {
	const ERR_STATE *queue;          /* of the engine's thread; asked for once, because each call searches the data of the thread */
	unsigned long (*get)(void);
	void (*clear)(void), (*begin)(void), (*set)(int library, int reason, const char *format, ...);
} openssl;

static bool has_errors(void)
{
	return openssl.queue && openssl.queue->top != openssl.queue->bottom;
}

void hearth_openssl_errors_seal(void)
{
	ERR_STATE *(*queue)(void);

	*(void **) &queue = dlsym(RTLD_DEFAULT, "ERR_get_state");
	*(void **) &openssl.get = dlsym(RTLD_DEFAULT, "ERR_get_error");
	*(void **) &openssl.clear = dlsym(RTLD_DEFAULT, "ERR_clear_error");
	*(void **) &openssl.begin = dlsym(RTLD_DEFAULT, "ERR_new");
	*(void **) &openssl.set = dlsym(RTLD_DEFAULT, "ERR_set_error");
	if (queue && openssl.get && openssl.clear && openssl.begin && openssl.set) {
		openssl.queue = queue();
	}
	hearth_openssl_errors_drop();
}

void hearth_openssl_errors_keep(void)
{
	if (UNEXPECTED(has_errors())) {
		unsigned long *kept = pecalloc(ERR_NUM_ERRORS + 1, sizeof *kept, 1);

		for (size_t i = 0; i < ERR_NUM_ERRORS && (kept[i] = openssl.get()); i++) {
		}
		hearth_own_openssl_errors = kept;
	}
}

void hearth_openssl_errors_drop(void)
{
	if (UNEXPECTED(has_errors())) {
		openssl.clear();
	}
}

void hearth_release_openssl_errors(void)
{
	free(hearth_own_openssl_errors);
	hearth_own_openssl_errors = NULL;
}

void hearth_apply_openssl_errors(void)
{
	const unsigned long *kept = hearth_own_openssl_errors;

	for (size_t i = 0; kept && kept[i]; i++) {
		openssl.begin();
		openssl.set(ERR_GET_LIB(kept[i]), ERR_GET_REASON(kept[i]), NULL);
	}
	hearth_release_openssl_errors();
}
