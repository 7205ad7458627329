<?php

declare(strict_types=1);

namespace App;

use Doctrine\DBAL\Connection;
use Doctrine\DBAL\DriverManager;
use Symfony\Bundle\FrameworkBundle\FrameworkBundle;
use Symfony\Bundle\FrameworkBundle\Kernel\MicroKernelTrait;
use Symfony\Component\DependencyInjection\Loader\Configurator\ContainerConfigurator;
use Symfony\Component\HttpFoundation\BinaryFileResponse;
use Symfony\Component\HttpFoundation\Cookie;
use Symfony\Component\HttpFoundation\JsonResponse;
use Symfony\Component\HttpFoundation\RedirectResponse;
use Symfony\Component\HttpFoundation\Request;
use Symfony\Component\HttpFoundation\Response;
use Symfony\Component\HttpFoundation\StreamedResponse;
use Symfony\Component\HttpKernel\Event\ResponseEvent;
use Symfony\Component\HttpKernel\Kernel as BaseKernel;
use Symfony\Component\Routing\Loader\Configurator\RoutingConfigurator;

final class Kernel extends BaseKernel
{
    use MicroKernelTrait;

    private const CONNECTION = 'doctrine.dbal.default_connection';

    public function registerBundles(): iterable
    {
        yield new FrameworkBundle();
    }

    public function getProjectDir(): string
    {
        return \dirname(__DIR__);
    }

    public function getCacheDir(): string
    {
        return \sys_get_temp_dir() . '/cache';
    }

    public function getLogDir(): string
    {
        return \sys_get_temp_dir() . '/log';
    }

    private function configureContainer(ContainerConfigurator $container): void
    {
        $container->extension('framework', [
            'secret' => 'not secret',
            'http_method_override' => false,
            
            'php_errors' => ['log' => true],
            'session' => ['storage_factory_id' => 'session.storage.factory.native', 'handler_id' => 'session.handler.native_file',
                'name' => 'APPSESSION', 'cookie_samesite' => 'lax', 'cookie_secure' => 'auto', 'save_path' => \sys_get_temp_dir() . '/sessions'],
        ]);
        $container->parameters()->set('greeting', '%env(APP_GREETING)%')->set('mode', '%env(APP_ENV)%');
        // As DoctrineBundle has it, which Debian does not.
        $container->parameters()->set('doctrine.connections', ['default' => self::CONNECTION]);
        $container->services()->set(self::CONNECTION, Connection::class)->public()
            ->factory([DriverManager::class, 'getConnection'])->args([['driver' => 'pdo_sqlite', 'path' => \sys_get_temp_dir() . '/notes.db']]);
        $container->services()->set(Tray::class)->public()->tag('kernel.reset', ['method' => 'reset']);
    }

    private function configureRoutes(RoutingConfigurator $routes): void
    {
        foreach (['home' => '/', 'json' => '/user/{id}', 'form' => '/form', 'login' => '/login', 'me' => '/me', 'logout' => '/logout', 'upload' => '/upload',
            'redirect' => '/redirect', 'cookie' => '/cookie', 'readCookie' => '/cookie/read', 'fail' => '/throw', 'leave' => '/exit', 'stream' => '/stream',
            'download' => '/download', 'mutate' => '/mutate', 'state' => '/state', 'memory' => '/memory', 'flash' => '/flash', 'fields' => '/fields', 'greeting' => '/greeting',
            'echoes' => '/echo', 'begin' => '/begin/{how}', 'insert' => '/insert', 'change' => '/change', 'changes' => '/changes',
            'owner' => '/owner'] as $name => $path) {
            $routes->add($name, $path)->controller([self::class, $name]);
        }
    }

    public function home(): Response
    {
        return new Response('home');
    }

    public function json(int $id, Request $request): Response
    {
        return new JsonResponse(['id' => $id, 'query' => $request->query->get('q')]);
    }

    public function greeting(): Response
    {
        $parameter = $this->getContainer()->getParameter(...);

        return new JsonResponse([$parameter('greeting'), $parameter('mode'), $_ENV['APP_GREETING'] ?? null, $_SERVER['APP_GREETING'] ?? null]);
    }

    public function fields(Request $request): Response
    {
        return new JsonResponse([
            'proxy' => $request->server->get('HTTP_PROXY'),
            'forwarded' => $request->server->get('HTTP_X_FORWARDED_FOR'),
            'cookie' => $request->headers->get('Cookie'),
            'cookies' => \array_values($request->cookies->all()),
            'twice' => $request->headers->get('X-Twice'),
        ]);
    }

    public function form(Request $request): Response
    {
        return new Response("hello {$request->request->get('name')}");
    }

    public function login(Request $request): Response
    {
        if ($request->request->get('password') !== 'secret of ' . $request->request->get('name')) {
            return new Response('no', 403);
        }
        $request->getSession()->migrate(true);
        $request->getSession()->set('user', $request->request->get('name'));

        return new RedirectResponse('/me');
    }

    public function me(Request $request): Response
    {
        return new Response($request->hasPreviousSession() ? $request->getSession()->get('user', 'guest') : 'guest');
    }

    /** Notes the owner of a session and of the router's context, and may end in the middle of it. Tells them, and what holds for sessions. */
    public function owner(Request $request): Response
    {
        $session = $request->getSession();
        $context = $this->getContainer()->get('router')->getContext();
        $seen = [$session->get('owner'), $context->getParameter('owner'), \session_name(), \ini_get('session.use_strict_mode'), \basename(\session_save_path())];
        if ($request->query->has('name')) {
            $session->set('owner', $request->query->get('name'));
            $context->setParameter('owner', $request->query->get('name'));
        }
        match ($request->query->get('end')) {
            'exit' => exit,
            'error' => throw new \TypeError('thrown on purpose'),
            'leave' => \error_log('waits for its client to leave') && \sleep(60),
            default => null,
        };

        return new JsonResponse($seen);
    }

    public function logout(Request $request): Response
    {
        $request->getSession()->invalidate();

        return new Response('bye');
    }

    public function upload(Request $request): Response
    {
        $file = $request->files->get('file');
        $valid = $file->isValid();
        $size = $file->getSize();
        $moved = $file->move($this->getCacheDir(), 'uploaded.txt');

        return new JsonResponse([$valid, $file->getClientOriginalName(), $size, \file_get_contents($moved->getPathname())]);
    }

    public function redirect(Request $request): Response
    {
        $request->getSession()->getFlashBag()->add('note', 'seen once');

        return new RedirectResponse('/');
    }

    public function flash(Request $request): Response
    {
        return new Response($request->getSession()->getFlashBag()->get('note')[0] ?? 'none');
    }

    public function cookie(): Response
    {
        $response = new Response('set');
        $response->headers->setCookie(Cookie::create('flavour', 'vanilla'));

        return $response;
    }

    public function readCookie(Request $request): Response
    {
        return new Response($request->cookies->get('flavour', 'none'));
    }

    public function fail(): Response
    {
        throw new \RuntimeException('thrown on purpose');
    }

    public function leave(): Response
    {
        echo 'and out';
        exit;
    }

    public function stream(): Response
    {
        return new StreamedResponse(static function (): void {
            foreach (['one', 'two', 'three'] as $piece) {
                echo "$piece\n";
                \flush();
            }
        }, 200, ['X-Streamed' => 'yes', 'Content-Type' => 'text/plain']);
    }

    public function download(): Response
    {
        return (new BinaryFileResponse(__FILE__))->setContentDisposition('attachment', 'Kernel.txt');
    }

    public function mutate(Request $request): Response
    {
        $request->setLocale('de');
        $request->attributes->set('leak', 'attribute');
        $request->getSession()->set('leak', 'in the session');
        $this->getContainer()->get(Tray::class)->things[] = 'kept';
        \ini_set('precision', '3');
        \date_default_timezone_set('Asia/Tokyo');
        \setlocale(\LC_ALL, 'C.UTF-8');
        \putenv('LEAK=1');
        \umask(0o77);
        \chdir('/');
        \mb_internal_encoding('ISO-8859-1');
        \mt_srand(1);

        return new JsonResponse($this->getContainer()->get(Tray::class)->things);
    }

    public function state(Request $request): Response
    {
        return new JsonResponse([
            'locale' => $request->getLocale(),
            'attribute' => $request->attributes->get('leak'),
            'session' => $request->hasPreviousSession() ? $request->getSession()->get('leak') : null,
            'tray' => $this->getContainer()->get(Tray::class)->things,
            'precision' => \ini_get('precision'),
            'timezone' => \date_default_timezone_get(),
            'setlocale' => \setlocale(\LC_ALL, '0'),
            'env' => \getenv('LEAK'),
            'umask' => \umask(),
            'cwd' => \getcwd() === '/',
            'encoding' => \mb_internal_encoding(),
            'predictable' => \mt_rand() === 895547922,
            'stack' => $this->getContainer()->get('request_stack')->getParentRequest() === null,
        ]);
    }

    public function echoes(): Response
    {
        echo '<p>echoed</p>';

        return new Response('<p>returned</p>', 200, ['Content-Length' => '15']);
    }

    /** A transaction that Doctrine does not know of. */
    public function begin(string $how): Response
    {
        $connection = $this->getContainer()->get(self::CONNECTION);
        $connection->executeStatement('CREATE TABLE IF NOT EXISTS notes (text TEXT)');
        $native = $connection->getNativeConnection();
        $how === 'pdo' ? $native->beginTransaction() : $native->exec('BEGIN');
        $connection->insert('notes', ['text' => 'never']);

        return new Response('begun');
    }

    public function insert(): Response
    {
        $connection = $this->getContainer()->get(self::CONNECTION);
        $connection->insert('notes', ['text' => 'kept']);

        return new Response(\implode(' ', $connection->fetchFirstColumn('SELECT text FROM notes')));
    }

    /** What a request changes beside the container. */
    public function change(Request $request): Response
    {
        $dispatcher = $this->getContainer()->get('event_dispatcher');
        $dispatcher->addListener('kernel.response', static fn ($event) => $event->getResponse()->headers->set('X-Leak', 'yes', false));
        $dispatcher->addListener('kernel.response', [$this->getContainer()->get(Tray::class), 'mark']);
        Request::setTrustedProxies(['127.0.0.1'], Request::HEADER_X_FORWARDED_FOR);
        Request::setTrustedHosts(['.*']);
        $request->setFormat('leak', 'text/leak');

        return new Response('changed');
    }

    public function changes(Request $request): Response
    {
        return new JsonResponse([Request::getTrustedProxies(), Request::getTrustedHosts(), $request->getFormat('text/leak')]);
    }

    public function memory(): Response
    {
        return new Response(\gc_collect_cycles() . ' ' . \memory_get_usage());
    }
}

/** A service that keeps something, and forgets it when Symfony resets services. */
final class Tray
{
    /** @var list<string> */
    public array $things = [];

    public function reset(): void
    {
        $this->things = [];
    }

    public function mark(ResponseEvent $event): void
    {
        $event->getResponse()->headers->set('X-Tray', 'yes', false);
    }
}
