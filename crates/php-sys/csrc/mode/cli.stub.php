<?php

function dl(string $extension_filename): bool {}
