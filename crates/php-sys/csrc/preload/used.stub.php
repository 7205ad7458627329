<?php

namespace Hearth\Internal;

function preloadedFilesUsed(): array {}
