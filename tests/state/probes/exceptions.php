<?php
try { try { throw new Exception('a'); } finally { throw new Exception('b'); } } catch (Exception) {} 
throw new RuntimeException('ends the script');
