<?php

declare(strict_types=1);

// In the server these are classes of its own (csrc/engine/errors.c).

namespace Hearth;

/**
 * A wait took longer than it was allowed to.
 *
 * It is an `\Error`, so that a `catch (\Exception)` somewhere in a library does not swallow the request's time limit.
 */
class TimeoutError extends \Error
{
}

/**
 * The task was cancelled while it waited: by `Task::cancel()`, by a sibling's failure in `parallel()`, or because the client hung up.
 *
 * Let it pass: it unwinds the task. It is an `\Error` for the same reason as `TimeoutError`.
 */
class CancelledError extends \Error
{
}

/** A value was sent into a channel that is closed, or asked of one that is closed and empty. */
final class ChannelClosed extends \RuntimeException
{
}
