<?php

declare(strict_types=1);

namespace Hearth\Internal;

use Hearth\Request;
use Hearth\Response;
use Symfony\Component\HttpKernel\HttpKernelInterface;
use Symfony\Component\HttpKernel\KernelInterface;
use Symfony\Component\HttpKernel\TerminableInterface;

/**
 * A Symfony kernel that answers one request after another.
 *
 * After the response was sent: `terminate()`, then the services that implement `ResetInterface` are reset (Symfony itself
 * would do that at the beginning of the next request, in the time of its client), and transactions left open are rolled back.
 *
 * @internal
 */
final class Symfony
{
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
        }
    }

    public function handle(Request $request): ?Response
    {
        $symfonyRequest = SymfonyBridge::toSymfony($request);
        $response = null;
        \Hearth\defer(function () use ($symfonyRequest, &$response): void {
            // After what the app itself has deferred.
            \Hearth\defer(fn () => $this->finish($symfonyRequest, $response));
        });
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
        if (!\method_exists($container, 'initialized') || !$container->initialized('doctrine')) {
            return;
        }
        foreach ($container->get('doctrine')->getConnectionNames() as $name => $service) {
            if (!$container->initialized($service)) {
                continue;
            }
            $connection = $container->get($service);
            if ($connection->isTransactionActive()) {
                \error_log("a transaction was left open on the connection \"$name\" and is rolled back");
                while ($connection->isTransactionActive()) {
                    $connection->rollBack();
                }
            }
        }
    }
}
