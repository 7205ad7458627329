<?php
// The engine notes the class that it links. This one ends the request in a fatal error.
if (PHP_VERSION_ID) { class Unlinkable implements DateTimeInterface {} }
