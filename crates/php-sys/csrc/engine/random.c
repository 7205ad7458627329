/*
 * The generators of random numbers that a worker inherits from the entry script: the engine's, libc's and SQLite's. Those of
 * OpenSSL, libgcrypt, libsodium, libuuid and libbson notice a fork or keep no state; ext/gmp's is given up at the end of boot.
 */
#include "engine/engine.h"
#include "engine/random.h"

#include <dlfcn.h>
#include <sys/random.h>
#include <time.h>

/* SQLite reads new random bytes from the system at the next use. */
static void reseed_sqlite(void)
{
	void (*randomness)(int, void *) = (void (*)(int, void *)) dlsym(RTLD_DEFAULT, "sqlite3_randomness");

	if (randomness) {
		randomness(0, NULL);
	}
}

/* libxslt's math:random() draws from rand(), whose state is that of random(). Without random bytes the clock has to do. */
static void reseed_libc(void)
{
	struct { unsigned int random; unsigned short rand48[3]; } seeds;

	if (getrandom(&seeds, sizeof seeds, GRND_NONBLOCK) != (ssize_t) sizeof seeds) {
		struct timespec now;

		clock_gettime(CLOCK_MONOTONIC, &now);
		seeds.random = (unsigned int) now.tv_nsec ^ (unsigned int) getpid() << 16;
		memcpy(seeds.rand48, &now.tv_nsec, sizeof seeds.rand48);
	}
	srandom(seeds.random);
	seed48(seeds.rand48);
}

void hearth_random_reseed(void)
{
	HEARTH_RESEED_RANDOM();
	reseed_libc();
	reseed_sqlite();
}
