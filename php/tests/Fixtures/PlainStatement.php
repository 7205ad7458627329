<?php

declare(strict_types=1);

namespace Hearth\Tests\Fixtures;

/** A statement class of an app that knows of no pool. */
final class PlainStatement extends \PDOStatement
{
}
