<?php

declare(strict_types=1);

namespace Hearth;

/**
 * Runs all callables at once and returns their results under the same keys, in the same order.
 *
 * The first failure cancels the others, waits until they have ended, and is thrown.
 *
 * ```php
 * ['user' => $user, 'posts' => $posts] = Hearth\parallel([
 *     'user' => fn () => loadUser($id),
 *     'posts' => fn () => loadPosts($id),
 * ]);
 * ```
 *
 * @template T
 * @param array<array-key, callable(): T> $callables
 * @param int|null $limit how many may run at once, null = all
 * @return array<array-key, T>
 * @throws \Throwable the first failure
 */
function parallel(array $callables, ?int $limit = null): array
{
    if ($limit !== null && $limit < 1) {
        throw new \ValueError("parallel(): the limit must be 1 or more, $limit given");
    }
    Internal\requireCallables('parallel', $callables);

    return $callables === [] ? [] : (new Internal\Group())->all($callables, $limit ?? \PHP_INT_MAX);
}

/**
 * Runs all callables at once; the first that ends, with a result or an exception, decides. The others are cancelled.
 *
 * ```php
 * $answer = Hearth\race([fn () => ask($mirror1), fn () => ask($mirror2)]);
 * ```
 *
 * @template T
 * @param non-empty-array<array-key, callable(): T> $callables
 * @return T
 * @throws \Throwable what the first threw
 */
function race(array $callables): mixed
{
    if ($callables === []) {
        throw new \ValueError('race(): there must be at least one callable');
    }
    Internal\requireCallables('race', $callables);

    return (new Internal\Group())->first($callables);
}

/**
 * Calls $fn; after $seconds its current wait, or the next one, ends with `CancelledError`, and this throws `TimeoutError`.
 *
 * For a `Hearth\Pool\Pdo` and for bound pools, $fn is part of the calling task: it sees the same connection and transaction.
 *
 * ```php
 * $rate = Hearth\timeout(0.2, fn () => fetchRate()) ;
 * ```
 *
 * @template T
 * @param callable(): T $fn
 * @return T
 * @throws TimeoutError
 */
function timeout(float $seconds, callable $fn): mixed
{
    if (!($seconds >= 0)) {
        throw new \ValueError("timeout(): the time must be 0 or more seconds, $seconds given");
    }
    if (!(new Internal\Group())->within($seconds, $fn, $result)) {
        throw new TimeoutError("the function did not end within $seconds s");
    }

    return $result;
}

/**
 * Calls $fn in this worker every so many seconds, each time in a task of its own, outside any request.
 *
 * A call that takes longer than the interval does not hold up the next.
 *
 * @param float $seconds more than 0
 */
function every(float $seconds, callable $fn): Timer
{
    if (!($seconds > 0) || \is_infinite($seconds)) {
        throw new \ValueError("every(): the interval must be more than 0 seconds, $seconds given");
    }

    return new Timer(Internal\every($seconds, $fn));
}

/**
 * Calls $fn in this worker once, after so many seconds, in a task of its own, outside any request.
 *
 * @param float $seconds 0 or more
 */
function after(float $seconds, callable $fn): Timer
{
    if (!($seconds >= 0) || \is_infinite($seconds)) {
        throw new \ValueError("after(): the time must be 0 or more seconds, $seconds given");
    }

    return new Timer(Internal\after($seconds, $fn));
}
