<?php

declare(strict_types=1);

namespace Hearth\Internal;

use Hearth\Request;
use Hearth\Response;

/**
 * Makes a handler from the value that an entry script returns.
 *
 * @internal
 */
final class Adapter
{
    /**
     * Makes a handler from the value that the entry script returned.
     *
     * @internal called by the server once, at boot
     * @return \Closure(Request): mixed|null null when the value cannot handle a request
     * @throws \LogicException when the app lacks a package that its kind of handler needs
     */
    public static function adapt(mixed $returned): ?\Closure
    {
        $app = Entry::app($returned);

        $handler = match (self::entryKind($returned)) {
            'psr-15' => self::adaptPsr($app),
            'symfony' => self::adaptSymfony($app),
            'laravel' => self::adaptLaravel($app),
            'slim' => self::adaptSlim($app),
            'callable' => \Closure::fromCallable($app),
            default => null,
        };

        // Leaks is named only if it is needed, because naming a class compiles it.
        return $handler !== null && \get_cfg_var('hearth.state_check') === '2' ? Leaks::around($handler) : $handler;
    }

    /**
     * Tells which kind of handler the entry script returned; kernels of frameworks are not made for concurrent requests.
     *
     * @internal
     * @return 'psr-15'|'symfony'|'laravel'|'slim'|'callable'|'' '' = no handler
     */
    public static function entryKind(mixed $returned): string
    {
        $app = Entry::app($returned);

        return match (true) {
            $app instanceof \Illuminate\Contracts\Http\Kernel,
            $app instanceof \Illuminate\Contracts\Foundation\Application => 'laravel',
            $app instanceof \Symfony\Component\HttpKernel\HttpKernelInterface => 'symfony',
            $app instanceof \Psr\Http\Server\RequestHandlerInterface => 'psr-15',
            $app instanceof \Slim\App => 'slim',
            \is_callable($app) => 'callable',
            default => '',
        };
    }

    /** @internal */
    private static function adaptPsr(\Psr\Http\Server\RequestHandlerInterface $handler): \Closure
    {
        $factories = PsrFactories::installed();

        return static fn (Request $request): Response => PsrBridge::fromPsr($handler->handle(PsrBridge::toPsr($request, $factories)));
    }

    /** @internal */
    private static function adaptSymfony(\Symfony\Component\HttpKernel\HttpKernelInterface $kernel): \Closure
    {
        $app = new Symfony($kernel);
        $app->boot();

        return $app->handle(...);
    }

    /** @internal */
    private static function adaptLaravel(\Illuminate\Contracts\Http\Kernel|\Illuminate\Contracts\Foundation\Application $returned): \Closure
    {
        $kernel = $returned instanceof \Illuminate\Contracts\Http\Kernel
            ? $returned
            : $returned->make(\Illuminate\Contracts\Http\Kernel::class);
        $app = $returned === $kernel ? $kernel->getApplication() : $returned;
        if (!$app instanceof \Illuminate\Foundation\Application) {
            return static function (Request $request) use ($kernel): ?Response {
                $laravelRequest = \Illuminate\Http\Request::createFromBase(SymfonyBridge::toSymfony($request));
                $response = $kernel->handle($laravelRequest);
                \Hearth\defer(static fn () => $kernel->terminate($laravelRequest, $response));

                return SymfonyBridge::fromSymfony($response->prepare($laravelRequest));
            };
        }
        $laravel = new Laravel($app, $kernel);
        $laravel->boot();

        return $laravel->handle(...);
    }

    /**
     * Slim 3, which is no PSR-15 handler and reads superglobals. Slim 4 is a PSR-15 handler.
     *
     * @internal
     */
    private static function adaptSlim(\Slim\App $app): \Closure
    {
        if (!\method_exists($app, 'process')) {
            throw new \LogicException('the script returned a Slim app of a version that Hearth does not know: Slim 3 and 4 are understood');
        }

        return static function () use ($app): Response {
            $environment = new \Slim\Http\Environment($_SERVER + ['SCRIPT_NAME' => '/index.php']);
            $response = new \Slim\Http\Response(200, new \Slim\Http\Headers(['Content-Type' => 'text/html; charset=UTF-8']));

            return PsrBridge::fromPsr($app->process(\Slim\Http\Request::createFromEnvironment($environment), $response));
        };
    }
}
