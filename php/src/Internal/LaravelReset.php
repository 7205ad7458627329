<?php

declare(strict_types=1);

namespace Hearth\Internal;

use Illuminate\Foundation\Application;

/**
 * Removes what a request leaves in the services of a Laravel application that were made at boot.
 *
 * The list is that of Laravel Octane's listeners, and more: transactions left open are rolled back, and whatever a request
 * adds to or sets on the framework's services and classes, such as routes, rules, gates and `Model::unguard()`, is removed.
 *
 * @internal
 */
final class LaravelReset
{
    /** Services that keep the container, by the method that sets it. */
    private const OWNERS = [
        'setApplication' => ['auth', 'cache', 'db', 'filesystem', 'mail.manager', 'queue', \Illuminate\Broadcasting\BroadcastManager::class],
        'setContainer' => [
            'router', 'session', 'validator', 'view', \Illuminate\Contracts\Auth\Access\Gate::class, \Illuminate\Contracts\Pipeline\Hub::class,
            \Illuminate\Notifications\ChannelManager::class,
        ],
    ];

    /** Services of first-party packages, and the method that resets each. */
    private const PACKAGES = [
        'Inertia\ResponseFactory' => 'flushShared',
        'Livewire\LivewireManager' => 'flushState',
        'Laravel\Scout\EngineManager' => 'forgetEngines',
        'Laravel\Socialite\Contracts\Factory' => 'forgetDrivers',
        'Illuminate\Foundation\Vite' => 'flush',
    ];

    /** Services that a request may change: the properties with parts of them, and those with caches. */
    private const CHANGED = [
        'url' => [['routeGenerator'], []],
        'redirect' => [[], []],
        'view' => [['finder'], ['views']],
        'validator' => [[], []],
        'translator' => [['loader'], []],
        'cookie' => [[], []],
        'router' => [['routes'], []],
        'blade.compiler' => [[], []],
        \Illuminate\Contracts\Auth\Access\Gate::class => [[], []],
        \Illuminate\Contracts\Http\Kernel::class => [[], []],
    ];

    public readonly bool $hasOctane;

    private readonly \Illuminate\Http\Request $noRequest;

    /** @var list<Snapshot> */
    private array $snapshots = [];

    private readonly Statics $statics;

    /** The argument of `Carbon::setTestNow()` at boot. */
    private readonly mixed $now;

    public function __construct(private readonly Application $app)
    {
        $this->hasOctane = \class_exists(\Laravel\Octane\Events\RequestReceived::class);
        $this->noRequest = $app->bound('request')
            ? clone $app->make('request')
            : \Illuminate\Http\Request::create((string) $app->make('config')->get('app.url', 'http://localhost'));
        foreach (self::CHANGED as $service => [$parts, $caches]) {
            if ($app->resolved($service)) {
                $this->snapshots[] = new Snapshot($app->make($service), $parts, $caches);
            }
        }
        // Made once here, instead of by each request that asks for a type.
        \Symfony\Component\HttpFoundation\Request::getMimeTypes('html');
        $this->statics = new Statics(Statics::HTTP_FOUNDATION + Statics::LARAVEL);
        $this->now = \Illuminate\Support\Carbon::getTestNow();
    }

    /** Called before a request: gives this clone to every service that keeps the application. */
    public function prepare(Application $sandbox, \Illuminate\Http\Request $request): void
    {
        $sandbox->instance('config', clone $sandbox->make('config'));
        $this->give($sandbox);
        $this->app->instance('request', $request);
        $sandbox->instance('request', $request);
        if (\class_exists(\Illuminate\Pagination\PaginationState::class)) {
            \Illuminate\Pagination\PaginationState::resolveUsing($sandbox);
        }
    }

    /** Called after a request; the order matters: first the steps that may still run code of the app. */
    public function forget(Application $sandbox): void
    {
        foreach (['connections', 'auth', 'session', 'locale', 'logs', 'caches', 'packages', 'container'] as $what) {
            try {
                $this->{$what}($sandbox);
            } catch (\Throwable $exception) {
                \error_log("Laravel: $what of the last request could not be reset: $exception");
            }
        }
        $this->app->instance('request', $this->noRequest);
        foreach ($this->snapshots as $snapshot) {
            $snapshot->restore();
        }
        $this->statics->restore();
        if (\Illuminate\Support\Carbon::getTestNow() !== $this->now) {
            \Illuminate\Support\Carbon::setTestNow($this->now);
        }
        $this->give($this->app);
    }

    private function give(Application $app): void
    {
        $app->make(\Illuminate\Contracts\Http\Kernel::class)->setApplication($app);
        foreach (self::OWNERS as $method => $services) {
            foreach ($services as $service) {
                if ($this->app->resolved($service) && \method_exists($owner = $this->app->make($service), $method)) {
                    $owner->{$method}($app);
                }
            }
        }
        if ($this->app->resolved('view')) {
            $this->app->make('view')->share('app', $app);
        }
        if ($this->app->resolved('session')) {
            foreach ($this->app->make('session')->getDrivers() as $driver) {
                if (\method_exists($handler = $driver->getHandler(), 'setContainer')) {
                    $handler->setContainer($app);
                }
            }
        }
    }

    private function connections(Application $sandbox): void
    {
        if (!$sandbox->resolved('db')) {
            return;
        }
        foreach ($sandbox->make('db')->getConnections() as $name => $connection) {
            try {
                $this->rollBack((string) $name, $connection);
            } catch (\Throwable $exception) {
                \error_log("the connection \"$name\" is closed, as a transaction on it could not be rolled back: {$exception->getMessage()}");
                $connection->disconnect();
            }
            $connection->setTablePrefix((string) $connection->getConfig('prefix'));
            $connection->forgetRecordModificationState();
            $connection->flushQueryLog();
            $connection->disableQueryLog();
            if (\method_exists($connection, 'resetTotalQueryDuration')) {
                $connection->resetTotalQueryDuration();
                $connection->allowQueryDurationHandlersToRunAgain();
            }
        }
    }

    /** Rolls back the framework's own transaction, and one that was begun directly on its PDO. */
    private function rollBack(string $name, \Illuminate\Database\Connection $connection): void
    {
        $open = $connection->transactionLevel() > 0;
        if ($open) {
            $connection->rollBack(0);
        }
        foreach ([$connection->getRawPdo(), $connection->getRawReadPdo()] as $pdo) {
            $open = OpenTransactions::rollBack($pdo) || $open;
        }
        if ($open) {
            \error_log("a transaction was left open on the connection \"$name\" and is rolled back");
        }
    }

    private function auth(Application $sandbox): void
    {
        $this->app->forgetInstance('auth.driver');
        if ($this->app->resolved('auth')) {
            $this->app->make('auth')->forgetGuards();
        }
    }

    private function session(Application $sandbox): void
    {
        if ($this->app->resolved('session')) {
            foreach ($this->app->make('session')->getDrivers() as $driver) {
                $driver->flush();
                $driver->regenerate();
            }
        }
        if ($this->app->resolved('cookie')) {
            $this->app->make('cookie')->flushQueuedCookies();
        }
    }

    private function locale(Application $sandbox): void
    {
        $config = $this->app->make('config');
        if ($this->app->resolved('translator')) {
            $translator = $this->app->make('translator');
            $translator->setLocale($config->get('app.locale'));
            $translator->setFallback($config->get('app.fallback_locale'));
            if ($translator instanceof \Illuminate\Support\NamespacedItemResolver) {
                $translator->flushParsedKeys();
            }
        }
        if (\class_exists(\Carbon\Laravel\ServiceProvider::class)) {
            (new \Carbon\Laravel\ServiceProvider($this->app))->updateLocale();
        }
    }

    private function logs(Application $sandbox): void
    {
        if (!$this->app->resolved('log')) {
            return;
        }
        $log = $this->app->make('log');
        if (\method_exists($log, 'flushSharedContext')) {
            $log->flushSharedContext();
        }
        if (\method_exists($log, 'withoutContext')) {
            $log->withoutContext();
        }
        foreach ($log->getChannels() as $channel) {
            if (\method_exists($channel, 'withoutContext')) {
                $channel->withoutContext();
            }
            $logger = $channel->getLogger();
            if ($logger instanceof \Monolog\ResettableInterface) {
                $logger->reset();
            }
        }
    }

    private function caches(Application $sandbox): void
    {
        if ($this->app->resolved('cache') && $this->app->make('config')->get('cache.stores.array')) {
            $this->app->make('cache')->store('array')->flush();
        }
        \Illuminate\Support\Str::flushCache();
        if (\class_exists(\Illuminate\Support\Once::class)) {
            \Illuminate\Support\Once::flush();
        }
    }

    private function packages(Application $sandbox): void
    {
        foreach (self::PACKAGES as $service => $method) {
            if ($this->app->resolved($service) && \method_exists($made = $this->app->make($service), $method)) {
                $made->{$method}();
            }
        }
        if ($this->app->resolved('mail.manager')) {
            $this->app->make('mail.manager')->forgetMailers();
        }
        if ($this->app->resolved(\Illuminate\Notifications\ChannelManager::class)) {
            $this->app->make(\Illuminate\Notifications\ChannelManager::class)->forgetDrivers();
        }
    }

    private function container(Application $sandbox): void
    {
        if (\method_exists($this->app, 'resetScope')) {
            $this->app->resetScope();
        }
        if (\method_exists($this->app, 'forgetScopedInstances')) {
            $this->app->forgetScopedInstances();
        }
        foreach ($sandbox->make('config')->get('octane.flush', []) as $binding) {
            $this->app->forgetInstance($binding);
        }
        if ($this->app->resolved('view.engine.resolver')) {
            foreach (['blade', 'php'] as $engine) {
                $this->app->make('view.engine.resolver')->forget($engine);
            }
        }
    }
}
