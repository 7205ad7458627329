<?php
// The probes of `answer.php` as a resident app.
require __DIR__ . '/answer.php';
probes();

return static fn (): string => answer($_GET);
