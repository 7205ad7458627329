<?php
assert_options(ASSERT_CALLBACK, fn () => null); assert_options(ASSERT_WARNING, 0); @assert(false);
ini_set("assert.callback", "strlen"); ini_set("assert.exception", "0"); @assert(false); $list = [2, 1]; @usort($list, fn ($a, $b) => $a > $b);
