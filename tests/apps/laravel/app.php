<?php

return require __DIR__ . '/bootstrap/app.php';
