<?php

declare(strict_types=1);

namespace Hearth\Tests\Unit;

use Hearth\Internal;
use Hearth\Response;
use Hearth\Tests\TestCase;
use Nyholm\Psr7\Factory\Psr17Factory;
use Nyholm\Psr7\Response as PsrResponse;

final class ResponseTest extends TestCase
{
    /** The server reads these by position. */
    public function testPropertiesAreWhereTheServerLooksForThem(): void
    {
        $names = \array_map(fn ($property) => $property->getName(), (new \ReflectionClass(Response::class))->getProperties());
        self::assertSame(['status', 'headers', 'body', 'file'], \array_slice($names, 0, 4));
    }

    public function testPlain(): void
    {
        $response = new Response('x', 201, ['X-Number' => 1, 'X-List' => ['a', 2.5]]);
        self::assertSame('x', $response->body());
        self::assertSame(201, $response->status());
        self::assertSame(['X-Number' => ['1'], 'X-List' => ['a', '2.5']], $response->headers());
        self::assertSame('a, 2.5', $response->header('x-list'));
        self::assertNull($response->header('Content-Type'));
        self::assertNull($response->filePath());
    }

    public function testJson(): void
    {
        $response = Response::json(['ü' => 'a/b']);
        self::assertSame('{"ü":"a/b"}', $response->body());
        self::assertSame('application/json', $response->header('Content-Type'));
        $problem = Response::json([], 404, ['content-type' => 'application/problem+json'], \JSON_FORCE_OBJECT);
        self::assertSame([404, '{}'], [$problem->status(), $problem->body()]);
        self::assertSame(['content-type' => ['application/problem+json']], $problem->headers());
        $this->thrown(\JsonException::class, fn () => Response::json("\xff"));
    }

    public function testRedirect(): void
    {
        self::assertSame('/a?b=c', Response::redirect('/a?b=c')->header('location'));
        self::assertSame(302, Response::redirect('/')->status());
        $this->thrown(\ValueError::class, fn () => Response::redirect('/', 200));
        $this->thrown(\ValueError::class, fn () => Response::redirect(''));
        $this->thrown(\ValueError::class, fn () => Response::redirect("/\r\nSet-Cookie: a=b"));
    }

    public function testFile(): void
    {
        self::assertSame('/tmp/x.pdf', Response::file('/tmp/x.pdf')->filePath());
        self::assertSame('attachment; filename="x.pdf"', Response::file('/x', 'x.pdf')->header('Content-Disposition'));
        self::assertSame(
            "attachment; filename=\"_ber_.txt\"; filename*=UTF-8''%C3%BCber%22.txt",
            \str_replace('__', '_', Response::file('/x', 'über".txt')->header('Content-Disposition')),
        );
        $this->thrown(\ValueError::class, fn () => Response::file("/etc/passwd\0.png"));
        $this->thrown(\ValueError::class, fn () => Response::file(''));
    }

    public function testHeadersAreTheSameInAnyCase(): void
    {
        $one = new Response('', 200, ['content-type' => 'a']);
        $two = $one->withHeader('Content-Type', 'b');
        self::assertSame(['content-type' => ['a']], $one->headers(), 'the original was changed');
        self::assertSame(['Content-Type' => ['b']], $two->headers());
        self::assertSame(['Content-Type' => ['b', 'c', 'd']], $two->withAddedHeader('CONTENT-TYPE', ['c', 'd'])->headers());
        self::assertSame([], $two->withoutHeader('content-TYPE')->headers());
        self::assertSame(['A' => ['1', '2']], (new Response('', 200, ['A' => '1', 'a' => '2']))->headers());
    }

    /** @dataProvider injections */
    public function testHeaderInjectionIsRefused(string $name, mixed $value): void
    {
        foreach ([
            fn () => new Response('', 200, [$name => $value]),
            fn () => (new Response())->withHeader($name, $value),
            fn () => (new Response())->withAddedHeader($name, $value),
            fn () => Response::json(1, 200, [$name => $value]),
            fn () => Response::file('/x', null, [$name => $value]),
            fn () => Response::events([], [$name => $value]),
        ] as $call) {
            $this->thrown(\ValueError::class, $call);
        }
    }

    public static function injections(): array
    {
        return [
            ['A', "x\ny"], ['A', "x\r"], ['A', "x\0"], ['A', ['fine', "not\nfine"]], ['A', []], ['A', [null]],
            ["A\n", 'x'], ['', 'x'], ['A B', 'x'], ['A:', 'x'], ["A\0", 'x'], ['Ä', 'x'],
        ];
    }

    public function testStatusRange(): void
    {
        self::assertSame(599, (new Response())->withStatus(599)->status());
        foreach ([0, -1, 100, 199, 600, 1000] as $status) {
            $this->thrown(\ValueError::class, fn () => new Response('', $status));
            $this->thrown(\ValueError::class, fn () => (new Response())->withStatus($status));
        }
    }

    public function testCookies(): void
    {
        $response = (new Response())
            ->withCookie('a', 'x y;ü')
            ->withCookie('b', '', new \DateTimeImmutable('@86400'), '', 'example.org', true, false, 'none');
        self::assertSame([
            'a=x%20y%3B%C3%BC; Path=/; HttpOnly; SameSite=Lax',
            'b=; Expires=Fri, 02 Jan 1970 00:00:00 GMT; Max-Age=0; Domain=example.org; Secure; SameSite=None',
        ], $response->headers()['Set-Cookie']);
        self::assertStringContainsString('Max-Age=0', (new Response())->withoutCookie('a')->header('Set-Cookie'));
        foreach ([
            fn () => $response->withCookie('a b', ''),
            fn () => $response->withCookie('', ''),
            fn () => $response->withCookie('a=', ''),
            fn () => $response->withCookie('a', '', 0, "/\n"),
            fn () => $response->withCookie('a', '', 0, '/', 'x; Secure'),
            fn () => $response->withCookie('a', '', sameSite: 'Laxer'),
            fn () => $response->withCookie('a', '', sameSite: 'None'),
        ] as $call) {
            $this->thrown(\ValueError::class, $call);
        }
    }

    public function testEvents(): void
    {
        $response = Response::events([
            'plain',
            "two\r\nlines\rthree",
            ['event' => 'price', 'id' => 7, 'retry' => 1.5, 'data' => ['eur' => 3]],
            null,
            ['comment' => "a\nb"],
            ['data' => ''],
        ]);
        self::assertSame('text/event-stream', $response->header('content-type'));
        self::assertSame('no-cache', $response->header('cache-control'));
        self::assertSame([
            "data: plain\n\n",
            "data: two\ndata: lines\ndata: three\n\n",
            "event: price\nid: 7\nretry: 1500\ndata: {\"eur\":3}\n\n",
            ":\n\n",
            ": a\n: b\n\n",
            "data: \n\n",
        ], \iterator_to_array($response->body(), false));
        foreach ([['event' => "a\nb"], ['id' => "a\0"], ['dtaa' => 1]] as $bad) {
            $this->thrown(\ValueError::class, fn () => \iterator_to_array(Response::events([$bad])->body(), false));
        }
    }

    public function testToResponse(): void
    {
        self::assertSame('[1]', Internal\ResponseConverter::toResponse([1])->body());
        $json = new class() implements \JsonSerializable, \IteratorAggregate {
            public function jsonSerialize(): array
            {
                return ['json' => true];
            }

            public function getIterator(): \Iterator
            {
                return new \ArrayIterator([]);
            }
        };
        self::assertSame('{"json":true}', Internal\ResponseConverter::toResponse($json)->body());
        $generator = (fn () => yield 'piece')();
        self::assertSame($generator, Internal\ResponseConverter::toResponse($generator)->body());
        foreach ([1 => 'int', 'stdClass' => new \stdClass(), 'bool' => false, 'float' => 1.5] as $type => $value) {
            $error = $this->thrown(\TypeError::class, fn () => Internal\ResponseConverter::toResponse($type === 1 ? 1 : $value));
            self::assertStringContainsString('the handler returned ' . ($type === 1 ? 'int' : $type), $error->getMessage());
        }
    }

    public function testPsrResponse(): void
    {
        $response = Internal\ResponseConverter::toResponse(new PsrResponse(404, ['X' => ['a', 'b']], 'gone'));
        self::assertSame([404, ['X' => ['a', 'b']], 'gone'], [$response->status(), $response->headers(), $response->body()]);

        $big = \random_bytes(200_000);
        $stream = (new Psr17Factory())->createStream($big);
        $stream->seek(5);
        $response = Internal\ResponseConverter::toResponse(new PsrResponse(200, [], $stream));
        self::assertSame('200000', $response->header('Content-Length'));
        self::assertSame($big, \implode('', \iterator_to_array($response->body(), false)));
    }
}
