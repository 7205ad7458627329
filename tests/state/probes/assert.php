<?php
assert_options(ASSERT_CALLBACK, fn () => null); assert_options(ASSERT_WARNING, 0); @assert(false);
