<?php
$f = FFI::cdef('int getpid(void); typedef struct { int a; } t;'); $f->getpid(); $f->new('t'); FFI::sizeof(FFI::new('int[4]')); try { FFI::cdef('garbage !'); } catch (FFI\Exception) {} try { FFI::scope('nope'); } catch (FFI\Exception) {}
