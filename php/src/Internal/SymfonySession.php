<?php

declare(strict_types=1);

namespace Hearth\Internal;

use Psr\Container\ContainerInterface;
use Symfony\Component\DependencyInjection\Container;
use Symfony\Component\HttpFoundation\Request;
use Symfony\Component\HttpFoundation\Session\Session;
use Symfony\Component\HttpFoundation\Session\SessionFactory;
use Symfony\Component\HttpFoundation\Session\Storage\Handler\NativeFileSessionHandler;
use Symfony\Component\HttpFoundation\Session\Storage\Handler\StrictSessionHandler;
use Symfony\Component\HttpFoundation\Session\Storage\NativeSessionStorage;
use Symfony\Component\HttpFoundation\Session\Storage\NativeSessionStorageFactory;
use Symfony\Component\HttpFoundation\Session\Storage\PhpBridgeSessionStorage;
use Symfony\Component\HttpFoundation\Session\Storage\PhpBridgeSessionStorageFactory;

/**
 * What Symfony keeps of sessions as long as its kernel: before 6.0 the session itself (later ones make one for each request), and the
 * handler that writes it.
 *
 * The objects stay, because services have them; what they have of a request does not.
 *
 * @internal
 */
final class SymfonySession
{
    /** Its services: of 5.3 and later, as compiled and not, and of versions before. */
    private const SERVICES = ['.container.private.session', '.session.do-not-use', 'session'];

    /** What the constructor of NativeSessionStorage sets beside the app's options. */
    private const DEFAULTS = ['cache_limiter' => '', 'cache_expire' => 0, 'use_cookies' => 1, 'lazy_write' => 1, 'use_strict_mode' => 1];

    /**
     * Sets the app's options and handler of sessions, as the constructors of storage and handler did in the first request that had one:
     * Hearth ends settings with their request.
     */
    public static function begin(ContainerInterface $container, Request $request): void
    {
        if (!$container instanceof Container) {
            return;
        }
        $parameter = static fn (string $name): mixed => $container->hasParameter($name) ? $container->getParameter($name) : null;
        $made = self::made($container);
        if (self::handler($made) instanceof NativeFileSessionHandler && $parameter('session.save_path') !== null) {
            \ini_set('session.save_path', $parameter('session.save_path'));
            \ini_set('session.save_handler', 'files');
        }
        $storage = self::storage($made);
        if ($storage === null) {
            return;
        }
        // The bridge to a session that the app starts itself has no options.
        if (!$storage instanceof PhpBridgeSessionStorage) {
            $options = $parameter('session.storage.options') ?? [];
            $storage->setOptions($options + self::DEFAULTS);
            if (($options['cookie_secure'] ?? null) === 'auto' && $request->isSecure()) {
                $storage->setOptions(['cookie_secure' => true]);
            }
        }
        $storage->setSaveHandler($storage->getSaveHandler());
    }

    /**
     * Writes a session that is still open, as php-fpm does after `exit()` or an error (Symfony's reset would drop it), and
     * lets the storage forget it: otherwise the next request would find it started, and take it for its own.
     */
    public static function end(ContainerInterface $container): void
    {
        try {
            if (\session_status() === \PHP_SESSION_ACTIVE) {
                \session_write_close();
            }
        } finally {
            $storage = $container instanceof Container ? self::storage(self::made($container)) : null;
            if ($storage !== null) {
                self::forget($storage);
            }
        }
    }

    private static function forget(NativeSessionStorage $storage): void
    {
        \Closure::bind(static function () use ($storage): void {
            $storage->started = $storage->closed = false;
            foreach ([...\array_values($storage->bags), $storage->metadataBag] as $bag) {
                $data = [];
                $bag->initialize($data);
                unset($data);
            }
        }, null, NativeSessionStorage::class)();
    }

    /** @return array<string, object> the services that requests have made, by name */
    private static function made(Container $container): array
    {
        return \Closure::bind(static fn (): array => $container->services + $container->privates, null, Container::class)();
    }

    /** @param array<string, object> $made */
    private static function handler(array $made): ?object
    {
        $sessions = $made['session.factory'] ?? null;
        $storages = $sessions instanceof SessionFactory ? self::property($sessions, SessionFactory::class, 'storageFactory') : null;
        $handler = null;
        foreach ([NativeSessionStorageFactory::class, PhpBridgeSessionStorageFactory::class] as $class) {
            $handler = $storages instanceof $class ? self::property($storages, $class, 'handler') : $handler;
        }

        return $handler instanceof StrictSessionHandler ? self::property($handler, StrictSessionHandler::class, 'handler') : $handler;
    }

    private static function property(object $object, string $class, string $name): ?object
    {
        return \Closure::bind(static fn (): ?object => $object->$name, null, $class)();
    }

    /**
     * Returns the storage of the session, if a request has used one; another kind of storage is the app's own.
     *
     * @param array<string, object> $made
     */
    private static function storage(array $made): ?NativeSessionStorage
    {
        foreach (self::SERVICES as $service) {
            $session = $made[$service] ?? null;
            if ($session instanceof Session) {
                $storage = self::property($session, Session::class, 'storage');

                return $storage instanceof NativeSessionStorage ? $storage : null;
            }
        }

        return null;
    }
}
