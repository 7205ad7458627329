<?php

declare(strict_types=1);

namespace Hearth\Tests\Services\States;

/** There is no such state with that driver. */
final class NotSupported extends \Exception
{
}
