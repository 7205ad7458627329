<?php

declare(strict_types=1);

namespace Hearth\Internal;

use Hearth\Request;
use Hearth\Response;
use Illuminate\Container\Container;
use Illuminate\Contracts\Http\Kernel;
use Illuminate\Foundation\Application;
use Illuminate\Support\Facades\Facade;

/**
 * A Laravel application that answers one request after another, as Laravel Octane runs it.
 *
 * The application is booted once. Each request gets a clone of it, with a clone of its configuration; services made
 * at boot are given the clone. After the response was sent, `terminate()` runs and {@see LaravelReset} removes what the
 * request has left in those services. Octane's events are dispatched if Octane is installed, so an app's own listeners for
 * them work.
 *
 * @internal
 */
final class Laravel
{
    /** The services that Octane resolves at boot; bound by the framework's own providers. */
    private const WARM = [
        'auth', 'cache', 'cache.store', 'config', 'cookie', 'db', 'db.factory', 'db.transactions', 'encrypter', 'files', 'hash', 'log',
        'router', 'routes', 'session', 'session.store', 'translator', 'url', 'view',
    ];

    private LaravelReset $reset;

    public function __construct(private readonly Application $app, private readonly Kernel $kernel)
    {
    }

    /** Runs the part of the app's boot that does not need a request. */
    public function boot(): void
    {
        if (!$this->app->bound(Kernel::class)) {
            $this->app->instance(Kernel::class, $this->kernel);
        }
        if (!$this->app->hasBeenBootstrapped()) {
            $this->app->bootstrapWith($this->bootstrappers());
        }
        $this->app->loadDeferredProviders();
        foreach ($this->app->make('config')->get('octane.warm', self::WARM) as $service) {
            if (\is_string($service) && $this->app->bound($service)) {
                $this->app->make($service);
            }
        }
        $this->reset = new LaravelReset($this->app);
        self::makeCurrent($this->app);
    }

    public function handle(Request $request): ?Response
    {
        self::makeCurrent($sandbox = clone $this->app);
        $laravelRequest = \Illuminate\Http\Request::createFromBase(SymfonyBridge::toSymfony($request));
        $response = null;
        \Hearth\defer(function () use ($sandbox, $laravelRequest, &$response): void {
            // Runs after the functions that the app itself has deferred.
            \Hearth\defer(fn () => $this->finish($sandbox, $laravelRequest, $response));
        });
        $laravelRequest->enableHttpMethodParameterOverride();
        $this->reset->prepare($sandbox, $laravelRequest);
        $this->dispatch($sandbox, 'RequestReceived', $this->app, $sandbox, $laravelRequest);
        $response = $sandbox->make(Kernel::class)->handle($laravelRequest);
        $this->dispatch($sandbox, 'RequestHandled', $sandbox, $laravelRequest, $response);

        return SymfonyBridge::fromSymfony($response);
    }

    /** @param \Symfony\Component\HttpFoundation\Response|null $response null when the handler ended in `exit()` or an exception */
    private function finish(Application $sandbox, \Illuminate\Http\Request $request, ?object $response): void
    {
        try {
            if ($response !== null) {
                $sandbox->make(Kernel::class)->terminate($request, $response);
                $this->dispatch($sandbox, 'RequestTerminated', $this->app, $sandbox, $request, $response);
            }
            $route = $request->route();
            if ($route instanceof \Illuminate\Routing\Route && \method_exists($route, 'flushController')) {
                $route->flushController();
            }
        } finally {
            $this->reset->forget($sandbox);
            $sandbox->flush();
            self::makeCurrent($this->app);
        }
    }

    /** @return list<class-string> the kernel's own bootstrappers, and the request that `RegisterProviders` may ask for */
    private function bootstrappers(): array
    {
        $bootstrappers = (new \ReflectionMethod($this->kernel, 'bootstrappers'))->invoke($this->kernel);
        $at = \array_search(\Illuminate\Foundation\Bootstrap\RegisterProviders::class, $bootstrappers, true);
        if ($at !== false) {
            \array_splice($bootstrappers, $at, 0, [\Illuminate\Foundation\Bootstrap\SetRequestForConsole::class]);
        }

        return $bootstrappers;
    }

    private static function makeCurrent(Application $app): void
    {
        $app->instance('app', $app);
        $app->instance(Container::class, $app);
        Container::setInstance($app);
        Facade::clearResolvedInstances();
        Facade::setFacadeApplication($app);
    }

    /** Dispatches an event of Octane, if Octane is installed. */
    private function dispatch(Application $app, string $event, mixed ...$arguments): void
    {
        $class = "Laravel\\Octane\\Events\\$event";
        if ($this->reset->hasOctane) {
            $app->make('events')->dispatch(new $class(...$arguments));
        }
    }
}
