<?php

declare(strict_types=1);

namespace Hearth\Internal;

use Hearth\Request;
use Hearth\Response;
use Psr\Http\Message\ResponseInterface;
use Psr\Http\Message\ServerRequestInterface;
use Psr\Http\Message\StreamInterface;
use Psr\Http\Message\UploadedFileInterface;

/**
 * Conversion of requests and responses to and from PSR-7.
 *
 * @internal
 */
final class PsrBridge
{
    /** Bytes; bodies up to this size are sent in one piece. */
    private const PSR_BODY_PIECE = 65536;

    /** @internal */
    public static function fromPsr(ResponseInterface $psr): Response
    {
        $headers = [];
        foreach ($psr->getHeaders() as $name => $lines) {
            if ($lines !== []) {
                $headers[$name] = \array_values($lines);
            }
        }
        $body = $psr->getBody();
        $size = $body->getSize();
        if ($size !== null && $size <= self::PSR_BODY_PIECE) {
            return new Response((string) $body, $psr->getStatusCode(), $headers);
        }
        if ($size !== null && Headers::headerKey($headers, 'Content-Length') === null) {
            $headers['Content-Length'] = [(string) $size];
        }

        return new Response(self::psrPieces($body), $psr->getStatusCode(), $headers);
    }

    /**
     * @internal
     * @return \Generator<int, string>
     */
    private static function psrPieces(StreamInterface $body): \Generator
    {
        try {
            if ($body->isSeekable()) {
                $body->rewind();
            }
            while (!$body->eof()) {
                $piece = $body->read(self::PSR_BODY_PIECE);
                if ($piece !== '') {
                    yield $piece;
                }
            }
        } finally {
            $body->close();
        }
    }

    /**
     * Makes a PSR-7 request with the PSR-17 factories that are installed.
     *
     * @internal
     */
    public static function toPsr(Request $request, PsrFactories $factories): ServerRequestInterface
    {
        $psr = $factories->request->createServerRequest($request->method, self::requestUri($request), $_SERVER);
        foreach ($request->headers() as $name => $lines) {
            // Cookies become one line, whose parts must not be separated by commas (RFC 9113, 8.2.3).
            $psr = $psr->withHeader((string) $name, $name === 'cookie' ? \implode('; ', $lines) : $lines);
        }
        $psr = $psr
            ->withProtocolVersion(\substr((string) \strrchr("/$request->protocol", '/'), 1))
            ->withCookieParams($request->cookie())
            ->withQueryParams($request->query())
            ->withBody($factories->stream->createStreamFromResource($request->stream()))
            ->withUploadedFiles(self::psrFiles($request->files(), $factories));
        $form = $request->form();
        if ($request->method === 'POST' && ($form !== [] || self::isFormType($request->header('Content-Type')))) {
            $psr = $psr->withParsedBody($form);
        }

        return $psr->withAttribute('client', $request->client())->withAttribute(Request::class, $request);
    }

    /** @internal */
    public static function isFormType(?string $type): bool
    {
        $type = \strtolower(\trim(\explode(';', $type ?? '', 2)[0]));

        return $type === 'application/x-www-form-urlencoded' || $type === 'multipart/form-data';
    }

    /** @internal */
    private static function requestUri(Request $request): string
    {
        if (\preg_match('~^[a-z][a-z0-9+.-]*://~i', $request->target) === 1) {
            return $request->target;
        }
        $host = $request->header('Host') ?? 'localhost';
        $target = $request->target === '' || $request->target[0] !== '/' ? '/' : $request->target;

        return ($request->isSecure() ? 'https://' : 'http://') . $host . $target;
    }

    /**
     * @internal
     * @param array<array-key, mixed> $files in the form of `$_FILES`
     * @return array<array-key, mixed> a tree of PSR-7 files
     */
    private static function psrFiles(array $files, PsrFactories $factories): array
    {
        $tree = [];
        foreach ($files as $field => $file) {
            $tree[$field] = self::psrFile($file['tmp_name'], $file['name'], $file['type'], $file['size'], $file['error'], $factories);
        }

        return $tree;
    }

    /**
     * @internal
     * @return UploadedFileInterface|array<array-key, mixed> a tree if the field's name ends in brackets
     */
    private static function psrFile(mixed $path, mixed $name, mixed $type, mixed $size, mixed $error, PsrFactories $factories): UploadedFileInterface|array
    {
        if (\is_array($path)) {
            $tree = [];
            foreach ($path as $key => $_) {
                $tree[$key] = self::psrFile($path[$key], $name[$key], $type[$key], $size[$key], $error[$key], $factories);
            }

            return $tree;
        }
        $stream = $error === \UPLOAD_ERR_OK
            ? $factories->stream->createStreamFromFile($path)
            : $factories->stream->createStream('');

        return $factories->file->createUploadedFile($stream, (int) $size, (int) $error, $name, $type);
    }
}
