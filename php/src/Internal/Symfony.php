<?php

declare(strict_types=1);

namespace Hearth\Internal;

use Hearth\Request;
use Hearth\Response;
use Symfony\Component\HttpKernel\DataCollector\DumpDataCollector;
use Symfony\Component\HttpKernel\HttpKernelInterface;
use Symfony\Component\HttpKernel\KernelInterface;
use Symfony\Component\HttpKernel\TerminableInterface;
use Symfony\Component\Routing\RequestContextAwareInterface;

/**
 * A Symfony kernel that answers one request after another.
 *
 * After the response was sent: `terminate()` runs, the services that implement `ResetInterface` are reset (Symfony itself
 * would do that at the beginning of the next request, while its client waits), transactions left open are rolled back, the
 * session is closed, and listeners, the context of the router and the settings of the class Request are restored.
 *
 * @internal
 */
final class Symfony
{
    private ?Listeners $listeners = null;

    private Statics $statics;

    /** The context of the router: a request may set parameters of URLs in it. */
    private ?Snapshot $context = null;

    /** DebugBundle's collector: it shows dumps when it is destroyed, which here is at the end of the worker. */
    private ?DumpDataCollector $dumps = null;

    public function __construct(private readonly HttpKernelInterface $kernel)
    {
    }

    /** Makes the container and the HTTP kernel, once, before the workers are forked. */
    public function boot(): void
    {
        if ($this->kernel instanceof KernelInterface) {
            $this->kernel->boot();
            $container = $this->kernel->getContainer();
            if ($container->has('http_kernel')) {
                $container->get('http_kernel');
            }
            $this->listeners = Listeners::of($container);
            $router = $container->has('router') ? $container->get('router') : null;
            $this->context = $router instanceof RequestContextAwareInterface ? new Snapshot($router->getContext()) : null;
            $dumps = $container->has('data_collector.dump') ? $container->get('data_collector.dump') : null;
            $this->dumps = $dumps instanceof DumpDataCollector ? $dumps : null;
        }
        // Made once here, instead of by each request that asks for a type.
        \Symfony\Component\HttpFoundation\Request::getMimeTypes('html');
        $this->statics = new Statics(Statics::HTTP_FOUNDATION);
    }

    public function handle(Request $request): ?Response
    {
        $symfonyRequest = SymfonyBridge::toSymfony($request);
        $response = null;
        if ($this->kernel instanceof KernelInterface) {
            SymfonySession::begin($this->kernel->getContainer(), $symfonyRequest);
        }
        \Hearth\defer(function () use ($symfonyRequest, &$response): void {
            // Runs after the functions that the app itself has deferred.
            \Hearth\defer(fn () => $this->finish($symfonyRequest, $response));
        });
        if ($this->dumps !== null) {
            \register_shutdown_function($this->showDumps(...));
        }
        $response = $this->kernel->handle($symfonyRequest);

        return SymfonyBridge::fromSymfony($response);
    }

    /** @param \Symfony\Component\HttpFoundation\Response|null $response null when the handler ended in `exit()` or an exception */
    private function finish(\Symfony\Component\HttpFoundation\Request $request, ?object $response): void
    {
        try {
            if ($response !== null && $this->kernel instanceof TerminableInterface) {
                $this->kernel->terminate($request, $response);
            }
        } finally {
            if ($this->kernel instanceof KernelInterface) {
                $this->reset($this->kernel, $response === null);
            }
            $this->listeners?->restore();
            $this->context?->restore();
            $this->statics->restore();
        }
    }

    private function reset(KernelInterface $kernel, bool $wasLeft): void
    {
        $container = $kernel->getContainer();
        if ($wasLeft) {
            $this->unwind($container);
        }
        try {
            SymfonySession::end($container);
        } finally {
            $this->rollBack($container);
            $kernel->boot();
        }
    }

    /** Shows what `dump()` has kept for a profile that is not made, as before the `exit()` of `dd()`. */
    private function showDumps(): void
    {
        $isDue = static fn (DumpDataCollector $dumps): bool => $dumps->clonesCount === 0 && !$dumps->isCollected;
        if ($this->dumps->getDumpsCount() > 0 && \Closure::bind($isDue, null, DumpDataCollector::class)($this->dumps)) {
            $this->dumps->__destruct();
        }
    }

    /** Resets the kernel after `exit()`, which runs no `finally`: it would think that it is still inside that request. */
    private function unwind(\Psr\Container\ContainerInterface $container): void
    {
        $stack = $container->has('request_stack') ? $container->get('request_stack') : null;
        while ($stack?->pop() !== null) {
            // Removes all of them: the request and its sub-requests.
        }
        if ($this->kernel instanceof \Symfony\Component\HttpKernel\Kernel) {
            \Closure::bind(static function (object $kernel): void {
                $kernel->requestStackSize = 0;
                $kernel->resetServices = true;
            }, null, \Symfony\Component\HttpKernel\Kernel::class)($this->kernel);
        }
    }

    /** Rolls back what Doctrine's connections still have open. */
    private function rollBack(\Psr\Container\ContainerInterface $container): void
    {
        // DoctrineBundle's list of its connections; a request may have one without the bundle's registry.
        $hasNames = \method_exists($container, 'hasParameter') && $container->hasParameter('doctrine.connections');
        foreach ($hasNames ? $container->getParameter('doctrine.connections') : [] as $name => $service) {
            if (!$container->initialized($service)) {
                continue;
            }
            $connection = $container->get($service);
            try {
                $this->rollBackOn((string) $name, $connection);
            } catch (\Throwable $exception) {
                \error_log("the connection \"$name\" is closed, as a transaction on it could not be rolled back: {$exception->getMessage()}");
                $connection->close();
            }
        }
    }

    /** Rolls back Doctrine's own transaction, and one that was begun directly on its native connection. */
    private function rollBackOn(string $name, \Doctrine\DBAL\Connection $connection): void
    {
        $open = $connection->isTransactionActive();
        while ($connection->isTransactionActive()) {
            $connection->rollBack();
        }
        if ($connection->isConnected() && \method_exists($connection, 'getNativeConnection')) {
            $open = OpenTransactions::rollBack($connection->getNativeConnection()) || $open;
        }
        if ($open) {
            \error_log("a transaction was left open on the connection \"$name\" and is rolled back");
        }
    }
}
