<?php

declare(strict_types=1);

// In the server these functions are native (csrc/engine/prelude_functions.c), and call the same methods.

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
 * @param int|null $limit number of callables that may run at once, null = all
 * @return array<array-key, T>
 * @throws \Throwable the first failure
 */
function parallel(array $callables, ?int $limit = null): array
{
    return Internal\Functions::parallel($callables, $limit);
}

/**
 * Runs all callables at once and returns the result of the first that ends, or throws its exception.
 * The others are cancelled.
 *
 * ```php
 * $answer = Hearth\race([fn () => ask($mirror1), fn () => ask($mirror2)]);
 * ```
 *
 * @template T
 * @param non-empty-array<array-key, callable(): T> $callables
 * @return T
 * @throws \Throwable the exception of the first that ended
 */
function race(array $callables): mixed
{
    return Internal\Functions::race($callables);
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
    return Internal\Functions::timeout($seconds, $fn);
}

/**
 * Calls $fn in this worker every $seconds seconds, each time in a task of its own, outside any request.
 *
 * A call that takes longer than the interval does not hold up the next.
 *
 * @param float $seconds more than 0
 */
function every(float $seconds, callable $fn): Timer
{
    return Internal\Functions::every($seconds, $fn);
}

/**
 * Calls $fn in this worker once, after $seconds seconds, in a task of its own, outside any request.
 *
 * @param float $seconds 0 or more
 */
function after(float $seconds, callable $fn): Timer
{
    return Internal\Functions::after($seconds, $fn);
}
