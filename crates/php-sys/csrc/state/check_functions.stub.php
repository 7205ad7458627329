<?php

namespace Hearth\Internal;

function stateTake(string $name): void {}

function stateChanges(string $name): array {}

function stateMemory(): array {}
