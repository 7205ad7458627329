/*
 * The form of our own that numbers, strings, and arrays of such have as bytes: crates/cache/src/value.rs describes it. It is read without
 * the engine's unserialize().
 */
#ifndef HEARTH_CACHE_VALUE_H
#define HEARTH_CACHE_VALUE_H

#include "cache/cache.h"

/* How a value begins. */
enum { NONE, NO, YES, INT, DOUBLE, STRING, LIST, MAP };

/* Of arrays in arrays. */
#define DEPTH 512

#endif
