/*
 * The block of match data that ext/pcre prepares for all its calls. preg_replace_callback() keeps the offsets of its match there while its
 * callback runs, and marks the block as used. A task that waits in the callback takes the block along, and so does a Fiber that is
 * suspended there; others get another block. The mark alone would not do, because a call puts back the mark that it found, which may be of
 * another task.
 */
#include "hearth.h"
#include "state/local_symbols.h"
#include "state/match_data.h"

#include <dlfcn.h>

/* ext/pcre/php_pcre.c: PHP_PCRE_PREALLOC_MDATA_SIZE */
#define PAIRS 32
/* How far the mark is from the pointer to the block: both are variables of php_pcre.c. */
#define DISTANCE 256

static void **block;
static bool unused;
bool *hearth_match_data_used = &unused;
static pcre2_match_data *(*create)(uint32_t pairs, void *context);

/* A block that no task uses. */
static void *spare;

/* Finds the byte that is 1 while the block is taken and 0 before and after; NULL if there is not exactly one. */
static bool *find_mark(const char *near)
{
	static char before[2 * DISTANCE];
	bool *found = NULL;
	uint32_t count = 0;
	void *taken;

	memcpy(before, near - DISTANCE, sizeof before);
	taken = php_pcre_create_match_data(1, NULL);
	for (size_t i = 0; i < sizeof before; i++) {
		if (before[i] == 0 && near[(ptrdiff_t) i - DISTANCE] == 1) {
			found = (bool *) near - DISTANCE + i;
			count++;
		}
	}
	php_pcre_free_match_data(taken);
	return count == 1 && !*found ? found : NULL;
}

/* Called at the end of boot. Where the variables are not found, the block stays taken, and each call makes its own. */
void hearth_match_data_seal(void)
{
	void *taken;

	taken = php_pcre_create_match_data(1, NULL);
	php_pcre_free_match_data(taken);
	block = hearth_find_in_libphp(taken);
	*(void **) &create = dlsym(RTLD_DEFAULT, "pcre2_match_data_create_8");
	if (block && create) {
		hearth_match_data_used = find_mark((const char *) block);
	}
	if (!block || !create || !hearth_match_data_used) {
		hearth_match_data_used = &unused;
		php_pcre_create_match_data(1, NULL);
	}
}

/* Returns the block that the running task uses. */
void *hearth_match_data_take(void)
{
	void *taken = *block;

	*block = spare ? spare : create(PAIRS, NULL);
	spare = NULL;
	*hearth_match_data_used = false;
	return taken;
}

void hearth_match_data_put_back(void *taken)
{
	void *other = *block;

	*block = taken;
	*hearth_match_data_used = true;
	if (!spare) {
		spare = other;
	} else {
		php_pcre_free_match_data(other);
	}
}
