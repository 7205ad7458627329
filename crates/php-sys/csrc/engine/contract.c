/* Compares hearth.h with its Rust side, as the C compiler lays it out: build.rs writes the conditions. */
#include "hearth.h"
#include "contract_layout.h"
