/* The generators of random numbers of this process. */
#ifndef HEARTH_RANDOM_H
#define HEARTH_RANDOM_H

/* Seeds them anew: a forked worker would draw the same numbers as its siblings and its successor. */
void hearth_random_reseed(void);

#endif
