<?php

declare(strict_types=1);

namespace Hearth;

use Hearth\Internal\WaitQueue;

/**
 * Hands values from task to task, in order.
 *
 * With a capacity of 0 a sender waits until a receiver has taken its value; otherwise it waits only while the buffer is full.
 *
 * ```php
 * $lines = new Hearth\Channel(16);
 * Hearth\async(function () use ($lines): void {
 *     foreach (file('big.txt') as $line) { $lines->send($line); }
 *     $lines->close();
 * });
 * foreach ($lines as $line) { … }
 * ```
 *
 * @template T
 * @implements \IteratorAggregate<int, T>
 */
final class Channel implements \IteratorAggregate, \Countable
{
    /** @var \SplQueue<T> */
    private \SplQueue $buffer;
    private WaitQueue $senders;
    private WaitQueue $receivers;
    private bool $closed = false;

    /** @param int $capacity number of values that may wait in the channel before `send()` waits */
    public function __construct(private readonly int $capacity = 0)
    {
        if ($capacity < 0) {
            throw new \ValueError("the capacity of a channel must be 0 or more, $capacity given");
        }
        $this->buffer = new \SplQueue();
        $this->senders = new WaitQueue();
        $this->receivers = new WaitQueue();
    }

    /** A channel cannot be cloned: the copy would share a part of its state. */
    private function __clone()
    {
    }

    /**
     * Sends a value.
     *
     * @param T $value
     * @param float|null $timeout seconds, null = for ever
     * @throws ChannelClosed when the channel is closed, or is closed during the wait
     * @throws TimeoutError when there was no room for the value in time; it was not sent then
     */
    public function send(mixed $value, ?float $timeout = null): void
    {
        if ($this->closed) {
            throw new ChannelClosed('send() on a closed channel');
        }
        if ($this->receivers->serve([$value]) !== 0) {
            return;
        }
        if (\count($this->buffer) < $this->capacity) {
            $this->buffer->enqueue($value);

            return;
        }
        $taken = $this->senders->wait($timeout, static function (): void {}, $value)
            ?? throw new TimeoutError("no task received from the channel within $timeout s");
        if ($taken === false) {
            throw new ChannelClosed('the channel was closed while send() waited');
        }
    }

    /**
     * Receives the next value.
     *
     * @param float|null $timeout seconds, null = for ever
     * @return T
     * @throws ChannelClosed when the channel is closed and empty
     * @throws TimeoutError when nothing was sent in time
     */
    public function receive(?float $timeout = null): mixed
    {
        if ($this->take($value)) {
            return $value;
        }
        if ($this->closed) {
            throw new ChannelClosed('receive() on a channel that is closed and empty');
        }
        $sent = $this->receivers->wait($timeout, $this->putBack(...))
            ?? throw new TimeoutError("nothing was sent into the channel within $timeout s");
        if ($sent === false) {
            throw new ChannelClosed('the channel was closed while receive() waited');
        }

        return $sent[0];
    }

    /** Takes the next value, from the buffer or from a waiting sender, without waiting. */
    private function take(mixed &$value): bool
    {
        if ($this->buffer->isEmpty()) {
            return $this->senders->serve(true, $value) !== 0;
        }
        $value = $this->buffer->dequeue();
        if ($this->senders->serve(true, $next) !== 0) {
            $this->buffer->enqueue($next);
        }

        return true;
    }

    /**
     * Passes on the value of a receiver that was cancelled: to the next receiver, or back to the front of the buffer.
     *
     * @param array{T}|false $sent false: the channel was closed
     */
    private function putBack(array|false $sent): void
    {
        if ($sent !== false && $this->receivers->serve($sent) === 0) {
            $this->buffer->unshift($sent[0]);
        }
    }

    /** Closes the channel: waiting senders get `ChannelClosed`, receivers the remaining values, then `ChannelClosed`. */
    public function close(): void
    {
        $this->closed = true;
        while ($this->receivers->serve(false) !== 0);
        while ($this->senders->serve(false) !== 0);
    }

    public function isClosed(): bool
    {
        return $this->closed;
    }

    /** Returns the number of values in the buffer. */
    public function count(): int
    {
        return \count($this->buffer);
    }

    /** Yields received values until the channel is closed and empty. */
    public function getIterator(): \Generator
    {
        while (true) {
            try {
                $value = $this->receive();
            } catch (ChannelClosed) {
                return;
            }
            yield $value;
        }
    }
}
