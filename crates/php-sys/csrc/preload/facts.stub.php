<?php

namespace Hearth\Internal;

function preloadFacts(string $file): array {}
