<?php

declare(strict_types=1);

namespace Hearth\Pool;

// Code that uses a database catches \PDOException; if PDO is loaded, the pool's exceptions extend it.
if (\class_exists(\PDOException::class, false)) {
    /** The base class of exceptions of a pool. */
    abstract class PoolException extends \PDOException
    {
    }
} else {
    /** The base class of exceptions of a pool. */
    abstract class PoolException extends \RuntimeException
    {
    }
}

/**
 * Thrown when no connection became free, or could be made, in time.
 *
 * The message has the number of connections and why none could be made; the last failure to connect is the previous
 * exception, and its SQLSTATE is the code.
 */
final class BorrowTimeout extends PoolException
{
    /** @internal */
    public static function of(string $pool, string $why, Statistics $statistics, ?\Throwable $cause): self
    {
        $message = \sprintf(
            'pool "%s": %s (total=%d, active=%d, idle=%d, waiting=%d, oldest wait %.3f s)%s',
            $pool,
            $why,
            $statistics->total(),
            $statistics->active(),
            $statistics->idle(),
            $statistics->waiting(),
            $statistics->oldestWait(),
            $cause === null ? '' : '; the last attempt to connect failed: ' . $cause->getMessage(),
        );
        $error = new self($message, 0, $cause);
        if ($cause instanceof \PDOException && $error instanceof \PDOException) {
            $error->code = $cause->getCode();
            $error->errorInfo = $cause->errorInfo;
        }

        return $error;
    }
}

/** Thrown when the pool was closed. */
final class PoolClosed extends PoolException
{
}

/** Thrown when the current task gives back a connection that it has not borrowed, or not from this pool, or not any more. */
final class NotBorrowed extends \LogicException
{
}
