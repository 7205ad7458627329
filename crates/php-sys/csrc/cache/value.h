/*
 * Hearth's own format for numbers, strings, and arrays of those: crates/cache/src/value.rs describes it. It is read without
 * the engine's unserialize().
 */
#ifndef HEARTH_CACHE_VALUE_H
#define HEARTH_CACHE_VALUE_H

#include "cache/cache.h"

/* The first byte of a value. */
enum { NONE, NO, YES, INT, DOUBLE, STRING, LIST, MAP };

/* The most levels of nested arrays. */
#define DEPTH 512

#endif
