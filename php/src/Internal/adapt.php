<?php

declare(strict_types=1);

namespace Hearth\Internal;

use Hearth\Request;
use Hearth\Response;

/**
 * Makes a handler of what the entry script returned.
 *
 * @internal called by the server once, at boot
 * @return \Closure(Request): mixed|null null when it is nothing that can handle a request
 * @throws \LogicException when the app lacks a package that its kind of handler needs
 */
function adapt(mixed $returned): ?\Closure
{
    return match (entryKind($returned)) {
        'psr-15' => adaptPsr($returned),
        'symfony' => adaptSymfony($returned),
        'laravel' => adaptLaravel($returned),
        'callable' => \Closure::fromCallable($returned),
        default => null,
    };
}

/**
 * What kind of handler the entry script returned; frameworks' kernels are not made for concurrent requests.
 *
 * @internal
 * @return 'psr-15'|'symfony'|'laravel'|'callable'|'' '' = none
 */
function entryKind(mixed $returned): string
{
    return match (true) {
        $returned instanceof \Illuminate\Contracts\Http\Kernel => 'laravel',
        $returned instanceof \Symfony\Component\HttpKernel\HttpKernelInterface => 'symfony',
        $returned instanceof \Psr\Http\Server\RequestHandlerInterface => 'psr-15',
        \is_callable($returned) => 'callable',
        default => '',
    };
}

/** @internal */
function adaptPsr(\Psr\Http\Server\RequestHandlerInterface $handler): \Closure
{
    $factories = PsrFactories::installed();

    return static fn (Request $request): Response => fromPsr($handler->handle(toPsr($request, $factories)));
}

/** @internal */
function adaptSymfony(\Symfony\Component\HttpKernel\HttpKernelInterface $kernel): \Closure
{
    return static function (Request $request) use ($kernel): Response {
        $symfonyRequest = toSymfony($request);
        $response = $kernel->handle($symfonyRequest);
        if ($kernel instanceof \Symfony\Component\HttpKernel\TerminableInterface) {
            \Hearth\defer(static fn () => $kernel->terminate($symfonyRequest, $response));
        }

        return fromSymfony($response);
    };
}

/** @internal */
function adaptLaravel(\Illuminate\Contracts\Http\Kernel $kernel): \Closure
{
    return static function (Request $request) use ($kernel): Response {
        $laravelRequest = \Illuminate\Http\Request::createFromBase(toSymfony($request));
        $response = $kernel->handle($laravelRequest);
        \Hearth\defer(static fn () => $kernel->terminate($laravelRequest, $response));

        return fromSymfony($response->prepare($laravelRequest));
    };
}
