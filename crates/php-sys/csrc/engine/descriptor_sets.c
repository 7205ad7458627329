/*
 * Descriptors that do not fit into a set of select(2). Where an extension or a library adds one, libc ends the process, and all its requests with it:
 * "bit out of range 0 - FD_SETSIZE on fd_set". Here it is a fatal error of the request. Of Debian's extensions only memcache does not ask before.
 *
 * The program's function stands before that of libc, which FD_SET() and its relatives call by its name.
 */
#include "engine/engine.h"
#include "task/task.h"

#include <dlfcn.h>
#include <sys/select.h>

/* Returns the number of the word that has the descriptor's bit. */
long int __fdelt_chk(long int descriptor)
{
	long int (*of_libc)(long int);

	if (EXPECTED(descriptor >= 0 && descriptor < FD_SETSIZE)) {
		return descriptor / __NFDBITS;
	}
	if (hearth_current) {
		zend_error_noreturn(E_ERROR, "The worker has too many open files for a library that calls select(): descriptor %ld, "
			"where the library takes those below %d", descriptor, FD_SETSIZE);
	}
	*(void **) &of_libc = dlsym(RTLD_NEXT, "__fdelt_chk");
	return of_libc(descriptor);
}

/* The linker keeps what the program itself refers to. */
void hearth_descriptor_sets_hook(void)
{
	static long int (*volatile const ours)(long int) = __fdelt_chk;

	(void) ours;
}
