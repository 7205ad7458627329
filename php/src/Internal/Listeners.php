<?php

declare(strict_types=1);

namespace Hearth\Internal;

use Symfony\Component\DependencyInjection\Container;
use Symfony\Component\EventDispatcher\EventDispatcher;

/**
 * The listeners of a Symfony event dispatcher as boot left them: undoes what a request adds or removes.
 *
 * A method of a service stays, once: a service made by the first request that needs it, and kept afterwards, may have added
 * it. The dispatcher makes listeners when they are first called and remembers them. So that it need not do that for each
 * request, it is restored only if the number of listeners of an event has changed.
 *
 * @internal
 */
final class Listeners
{
    /** @var array<string, array<int, int>> number of listeners, by event and priority */
    private array $counts;

    private Snapshot $snapshot;

    private function __construct(private readonly EventDispatcher $dispatcher, private readonly object $container)
    {
        $this->keep();
    }

    /** Finds an application's dispatcher, also inside the one of `debug`; null for a dispatcher of another kind. */
    public static function of(object $container): ?self
    {
        $dispatcher = $container->has('event_dispatcher') ? $container->get('event_dispatcher') : null;
        while ($dispatcher !== null && !$dispatcher instanceof EventDispatcher) {
            $dispatcher = self::inner($dispatcher);
        }

        return $dispatcher === null ? null : new self($dispatcher, $container);
    }

    public function restore(): void
    {
        if (self::counted($listeners = $this->listeners()) === $this->counts) {
            return;
        }
        $ofServices = [];
        foreach ($listeners as $event => $byPriority) {
            foreach ($byPriority as $priority => $list) {
                $before = \array_slice($list, 0, $this->counts[$event][$priority] ?? 0);
                foreach (\array_slice($list, \count($before)) as $listener) {
                    $isNew = !\in_array($listener, $before, true) && !\in_array([$event, $listener, $priority], $ofServices, true);
                    if ($isNew && $this->isOfAService($listener)) {
                        $ofServices[] = [$event, $listener, $priority];
                    }
                }
            }
        }
        $this->snapshot->restore();
        foreach ($ofServices as $listener) {
            $this->dispatcher->addListener(...$listener);
        }
        $this->keep();
    }

    private function keep(): void
    {
        $this->counts = self::counted($this->listeners());
        $this->snapshot = new Snapshot($this->dispatcher);
    }

    /** @return array<string, array<int, list<mixed>>> */
    private function listeners(): array
    {
        return \Closure::bind(static fn (EventDispatcher $of): array => $of->listeners, null, EventDispatcher::class)($this->dispatcher);
    }

    /**
     * @param array<string, array<int, list<mixed>>> $listeners
     * @return array<string, array<int, int>>
     */
    private static function counted(array $listeners): array
    {
        return \array_map(static fn (array $byPriority): array => \array_map(\count(...), $byPriority), $listeners);
    }

    private function isOfAService(mixed $listener): bool
    {
        if (!\is_array($listener) || !\is_object($listener[0] ?? null) || !$this->container instanceof Container) {
            return false;
        }
        $services = \Closure::bind(static fn (Container $of): array => [...$of->services, ...$of->privates], null, Container::class);

        return \in_array($listener[0], $services($this->container), true);
    }

    private static function inner(object $dispatcher): ?object
    {
        for ($class = new \ReflectionObject($dispatcher); $class !== false; $class = $class->getParentClass()) {
            if ($class->hasProperty('dispatcher')) {
                return $class->getProperty('dispatcher')->getValue($dispatcher);
            }
        }

        return null;
    }
}
