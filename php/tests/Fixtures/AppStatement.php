<?php

declare(strict_types=1);

namespace Hearth\Tests\Fixtures;

/** A statement class of an app for a pool. */
final class AppStatement extends \Hearth\Pool\Statement
{
}
