<?php

declare(strict_types=1);

namespace Hearth\Tests\Unit;

use Hearth\Internal\Adapter;
use Hearth\Request;
use Hearth\Response;
use Hearth\Tests\TestCase;
use Nyholm\Psr7\Response as PsrResponse;
use Psr\Http\Message\ResponseInterface;
use Psr\Http\Message\ServerRequestInterface;
use Psr\Http\Server\RequestHandlerInterface;
use Symfony\Component\HttpFoundation\BinaryFileResponse;
use Symfony\Component\HttpFoundation\Cookie;
use Symfony\Component\HttpFoundation\Request as SymfonyRequest;
use Symfony\Component\HttpFoundation\Response as SymfonyResponse;
use Symfony\Component\HttpFoundation\StreamedResponse;
use Symfony\Component\HttpKernel\HttpKernelInterface;
use Symfony\Component\HttpKernel\TerminableInterface;

final class AdaptTest extends TestCase
{
    protected function setUp(): void
    {
        if ($this->native()) {
            self::markTestSkipped('the native Request cannot be made by hand; black-box tests cover this');
        }
    }

    public function testCallables(): void
    {
        self::assertSame('hi', Adapter::adapt(fn () => 'hi')());
        self::assertSame('2', Adapter::adapt('strval')(2));
        self::assertSame(2, Adapter::adapt([new \ArrayObject([1, 2]), 'count'])());
        $object = new class() {
            public function __invoke(): string
            {
                return 'invoked';
            }
        };
        self::assertSame('invoked', Adapter::adapt($object)());
    }

    public function testNothingThatHandles(): void
    {
        foreach ([null, 1, true, 'no such function', [], new \stdClass()] as $value) {
            self::assertNull(Adapter::adapt($value));
            self::assertSame('', Adapter::entryKind($value));
        }
    }

    public function testPsr15(): void
    {
        $handler = new class() implements RequestHandlerInterface {
            public ServerRequestInterface $seen;

            public function handle(ServerRequestInterface $request): ResponseInterface
            {
                $this->seen = $request;

                return new PsrResponse(202, ['X' => 'y'], 'body');
            }
        };
        $upload = ['name' => 'a.txt', 'type' => 'text/plain', 'tmp_name' => __FILE__, 'error' => 0, 'size' => 3];
        $nested = ['name' => ['x' => ['b.txt']], 'type' => ['x' => ['']], 'tmp_name' => ['x' => ['']], 'error' => ['x' => [4]], 'size' => ['x' => [0]]];
        $response = Adapter::adapt($handler)(new Request(
            'POST',
            '/path?q=1&r[]=2',
            ['Host' => ['example.org:81'], 'Cookie' => ['c=d; e=f'], 'Content-Type' => ['application/x-www-form-urlencoded; charset=utf-8']],
            'k=v',
            ['k' => 'v'],
            ['file' => $upload, 'tree' => $nested],
        ));
        self::assertInstanceOf(Response::class, $response);
        self::assertSame([202, 'body', 'y'], [$response->status(), $response->body(), $response->header('x')]);
        $seen = $handler->seen;
        self::assertSame('POST', $seen->getMethod());
        self::assertSame('http://example.org:81/path?q=1&r%5B%5D=2', (string) $seen->getUri());
        self::assertSame('/path?q=1&r%5B%5D=2', $seen->getRequestTarget());
        self::assertSame('1.1', $seen->getProtocolVersion());
        self::assertSame(['q' => '1', 'r' => ['2']], $seen->getQueryParams());
        self::assertSame(['c' => 'd', 'e' => 'f'], $seen->getCookieParams());
        self::assertSame(['k' => 'v'], $seen->getParsedBody());
        self::assertSame('k=v', (string) $seen->getBody());
        self::assertSame('192.0.2.1', $seen->getAttribute('client'));
        self::assertSame('a.txt', $seen->getUploadedFiles()['file']->getClientFilename());
        self::assertStringStartsWith('<?php', (string) $seen->getUploadedFiles()['file']->getStream());
        self::assertSame(\UPLOAD_ERR_NO_FILE, $seen->getUploadedFiles()['tree']['x'][0]->getError());
    }

    public function testOtherBodiesAreNotParsed(): void
    {
        $handler = new class() implements RequestHandlerInterface {
            public function handle(ServerRequestInterface $request): ResponseInterface
            {
                return new PsrResponse(200, [], \var_export($request->getParsedBody(), true) . $request->getBody());
            }
        };
        $request = new Request('POST', '/', ['Content-Type' => ['application/json']], '{"a":1}');
        self::assertSame('NULL{"a":1}', Adapter::adapt($handler)($request)->body());
    }

    private static function needs(string $type): void
    {
        if (!\class_exists($type) && !\interface_exists($type)) {
            self::markTestSkipped("$type is not installed");
        }
    }

    public function testSymfony(): void
    {
        self::needs(HttpKernelInterface::class);
        $kernel = new class() implements HttpKernelInterface, TerminableInterface {
            public array $log = [];

            public function handle(SymfonyRequest $request, int $type = 1, bool $catch = true): SymfonyResponse
            {
                $this->log[] = $request->query->get('q') . $request->getContent();
                $response = new SymfonyResponse('content', 201, ['X-Y' => ['1', '2']]);
                $response->headers->setCookie(Cookie::create('a', 'b'));
                $response->headers->setCookie(Cookie::create('c', 'd'));

                return $response;
            }

            public function terminate(SymfonyRequest $request, SymfonyResponse $response): void
            {
                $this->log[] = 'terminated';
            }
        };
        $handler = Adapter::adapt($kernel);
        $response = $this->inTask(function () use ($handler, $kernel): Response {
            $response = $handler(new Request('PUT', '/x?q=v', ['Host' => ['h']], 'raw'));
            self::assertSame(['vraw'], $kernel->log, 'terminate() ran before the response was sent');

            return $response;
        });
        self::assertSame(['vraw', 'terminated'], $kernel->log);
        self::assertSame([201, 'content', '1, 2'], [$response->status(), $response->body(), $response->header('x-y')]);
        self::assertCount(2, $response->headers()['Set-Cookie']);
        self::assertSame('symfony', Adapter::entryKind($kernel));
    }

    public function testSymfonyFilesAndStreams(): void
    {
        self::needs(BinaryFileResponse::class);
        $file = \Hearth\Internal\ResponseConverter::toResponse(new BinaryFileResponse(__FILE__));
        self::assertSame(\realpath(__FILE__), $file->filePath());
        \ob_start();
        self::assertNull(\Hearth\Internal\ResponseConverter::toResponse(new StreamedResponse(function (): void {
            echo 'one ';
            \flush();
            echo 'two';
        })), 'a streamed response is echoed');
        self::assertSame('one two', \ob_get_clean());
        $temporary = (string) \tempnam(\sys_get_temp_dir(), 'hearth');
        \file_put_contents($temporary, 'gone afterwards');
        \ob_start();
        $file = (new BinaryFileResponse($temporary))->deleteFileAfterSend()->prepare(SymfonyRequest::create('/'));
        self::assertNull(\Hearth\Internal\ResponseConverter::toResponse($file));
        \ob_end_clean();
        self::assertFileDoesNotExist($temporary);
    }

    public function testWhatARuntimeHandsOver(): void
    {
        $kernel = new class() {
            public function __invoke(): string
            {
                return 'handed over';
            }
        };
        \Hearth\Internal\Entry::give($kernel);
        try {
            self::assertSame('callable', Adapter::entryKind(null));
            self::assertSame('handed over', Adapter::adapt(null)());
        } finally {
            (new \ReflectionProperty(\Hearth\Internal\Entry::class, 'given'))->setValue(null, null);
        }
        self::assertSame('', Adapter::entryKind(null));
    }

    public function testASnapshotPutsPropertiesBack(): void
    {
        $part = new \ArrayObject();
        $object = new class($part) {
            public array $list = [1];
            private ?string $text = null;

            public function __construct(protected readonly \ArrayObject $fixed, public ?Part $part = new Part())
            {
            }

            public function change(): void
            {
                $this->list[] = 2;
                $this->text = 'changed';
                $this->part->value = 2;
            }

            public function state(): array
            {
                return [$this->list, $this->text, $this->part->value];
            }
        };
        $before = $object->state();
        $snapshot = new \Hearth\Internal\Snapshot($object, ['part']);
        foreach ([1, 2] as $_) {
            $object->change();
            self::assertNotSame($before, $object->state());
            $snapshot->restore();
            self::assertSame($before, $object->state());
        }
    }

    public function testLaravel(): void
    {
        self::needs(\Illuminate\Contracts\Http\Kernel::class);
        self::needs(\Illuminate\Http\Request::class);
        $kernel = new class() implements \Illuminate\Contracts\Http\Kernel {
            public array $log = [];

            public function bootstrap(): void
            {
            }

            public function handle($request): SymfonyResponse
            {
                self::assertLaravel($request);
                $this->log[] = $request->input('k');

                return new \Illuminate\Http\JsonResponse(['ok' => true]);
            }

            private static function assertLaravel(object $request): void
            {
                AdaptTest::assertInstanceOf(\Illuminate\Http\Request::class, $request);
            }

            public function terminate($request, $response): void
            {
                $this->log[] = 'terminated';
            }

            public function getApplication()
            {
                return null;
            }
        };
        $handler = Adapter::adapt($kernel);
        $response = $this->inTask(fn () => $handler(new Request('POST', '/', ['Host' => ['h']], 'k=v', ['k' => 'v'])));
        self::assertSame(['v', 'terminated'], $kernel->log);
        self::assertSame('{"ok":true}', $response->body());
        self::assertSame('application/json', $response->header('content-type'));
    }
}

final class Part
{
    public int $value = 1;
}
