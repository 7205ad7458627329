<?php

declare(strict_types=1);

namespace Hearth\Internal;

use Hearth\Request;
use Hearth\Response;
use Symfony\Component\HttpKernel\DataCollector\DumpDataCollector;
use Symfony\Component\HttpKernel\HttpKernelInterface;
use Symfony\Component\HttpKernel\KernelInterface;
use Symfony\Component\HttpKernel\TerminableInterface;

/**
 * A Symfony kernel that answers one request after another.
 *
 * After the response was sent: `terminate()`, then the services that implement `ResetInterface` are reset (Symfony itself
 * would do that at the beginning of the next request, in the time of its client), transactions left open are rolled back, and
 * listeners and the settings of the class Request are as boot left them.
 *
 * @internal
 */
final class Symfony
{
    private ?Listeners $listeners = null;

    private Statics $statics;

    /** Of DebugBundle: it shows what was dumped when it is destroyed, which here is with the worker. */
    private ?DumpDataCollector $dumps = null;

    public function __construct(private readonly HttpKernelInterface $kernel)
    {
    }

    /** Container and HTTP kernel, made once and before the workers are. */
    public function boot(): void
    {
        if ($this->kernel instanceof KernelInterface) {
            $this->kernel->boot();
            $container = $this->kernel->getContainer();
            if ($container->has('http_kernel')) {
                $container->get('http_kernel');
            }
            $this->listeners = Listeners::of($container);
            $dumps = $container->has('data_collector.dump') ? $container->get('data_collector.dump') : null;
            $this->dumps = $dumps instanceof DumpDataCollector ? $dumps : null;
        }
        // Made once, not by each request that asks for one.
        \Symfony\Component\HttpFoundation\Request::getMimeTypes('html');
        $this->statics = new Statics(Statics::HTTP_FOUNDATION);
    }

    public function handle(Request $request): ?Response
    {
        $symfonyRequest = SymfonyBridge::toSymfony($request);
        $response = null;
        \Hearth\defer(function () use ($symfonyRequest, &$response): void {
            // After what the app itself has deferred.
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
                $container = $this->kernel->getContainer();
                if ($response === null) {
                    $this->unwind($container);
                }
                $this->rollBack($container);
                $this->kernel->boot();
            }
            $this->listeners?->restore();
            $this->statics->restore();
        }
    }

    /** What `dump()` has kept for a profile that is not made, such as before the `exit()` of `dd()`. */
    private function showDumps(): void
    {
        $isDue = static fn (DumpDataCollector $dumps): bool => $dumps->clonesCount === 0 && !$dumps->isCollected;
        if ($this->dumps->getDumpsCount() > 0 && \Closure::bind($isDue, null, DumpDataCollector::class)($this->dumps)) {
            $this->dumps->__destruct();
        }
    }

    /** After `exit()`, which runs no `finally`: the kernel takes itself to be inside of that request still. */
    private function unwind(\Psr\Container\ContainerInterface $container): void
    {
        $stack = $container->has('request_stack') ? $container->get('request_stack') : null;
        while ($stack?->pop() !== null) {
            // All of them: the request and its sub-requests.
        }
        if ($this->kernel instanceof \Symfony\Component\HttpKernel\Kernel) {
            \Closure::bind(static function (object $kernel): void {
                $kernel->requestStackSize = 0;
                $kernel->resetServices = true;
            }, null, \Symfony\Component\HttpKernel\Kernel::class)($this->kernel);
        }
    }

    /** What Doctrine's connections still have open belongs to no request any more. */
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

    /** Doctrine's own transaction, and one that was begun on its native connection. */
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
