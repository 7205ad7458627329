<?php

declare(strict_types=1);

namespace Hearth;

/**
 * A value private to the current request and its child tasks; it ends with the request.
 *
 * ```php
 * $user = new Hearth\Local(fn () => loadUser());   // at boot; computed once per request, when first asked for
 * $user->get();
 * ```
 *
 * @template T
 */
final class Local
{
    /**
     * @param (\Closure(): T)|null $initial computes the value of a request that has none yet; without it the value is null
     */
    public function __construct(private readonly ?\Closure $initial = null)
    {
    }

    /** Returns this request's value, and computes it first if need be. */
    /** @return T|null */
    public function get(): mixed
    {
        $locals = Internal\locals();
        if (isset($locals[$this])) {
            return $locals[$this][0];
        }
        if ($this->initial === null) {
            return null;
        }
        $value = ($this->initial)();
        $locals[$this] = [$value];

        return $value;
    }

    /** @param T $value */
    public function set(mixed $value): void
    {
        Internal\locals()[$this] = [$value];
    }

    /** Whether this request has set or computed the value. */
    public function has(): bool
    {
        return isset(Internal\locals()[$this]);
    }

    /** Forgets the value of this request. */
    public function unset(): void
    {
        unset(Internal\locals()[$this]);
    }
}
