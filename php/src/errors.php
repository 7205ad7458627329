<?php

declare(strict_types=1);

// In the server these classes are native (csrc/engine/errors.c).

namespace Hearth;

/**
 * Thrown when a wait took longer than allowed.
 *
 * It is an `\Error`, so that a `catch (\Exception)` somewhere in a library does not swallow the request's time limit.
 */
class TimeoutError extends \Error
{
}

/**
 * Thrown when the task is cancelled while it waits: by `Task::cancel()`, by a sibling's failure in `parallel()`, or
 * because the client hung up.
 *
 * Let it pass: it unwinds the task. It is an `\Error` for the same reason as `TimeoutError`.
 */
class CancelledError extends \Error
{
}

/** Thrown when a value is sent into a closed channel, or received from one that is closed and empty. */
final class ChannelClosed extends \RuntimeException
{
}
