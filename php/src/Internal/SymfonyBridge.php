<?php

declare(strict_types=1);

namespace Hearth\Internal;

use Hearth\Request;
use Hearth\Response;
use Symfony\Component\HttpFoundation\BinaryFileResponse;
use Symfony\Component\HttpFoundation\Request as SymfonyRequest;
use Symfony\Component\HttpFoundation\Response as SymfonyResponse;

/**
 * Conversion of requests and responses to and from Symfony's HttpFoundation.
 *
 * @internal
 */
final class SymfonyBridge
{
    /**
     * @internal
     * @param class-string<SymfonyRequest> $class
     */
    public static function toSymfony(Request $request, string $class = SymfonyRequest::class): SymfonyRequest
    {
        $form = $request->form();
        $content = $form === [] ? $request->body() : null;
        if ($content !== null && $content !== '' && PsrBridge::isFormType($request->header('Content-Type'))) {
            \parse_str($content, $form);
        }

        return new $class(
            $request->query(),
            $form,
            [],
            $request->cookie(),
            $request->files(),
            $_SERVER + self::serverVariables($request),
            $content,
        );
    }

    /**
     * Returns the content of `$_SERVER`, for when `variables_order` leaves that empty. As there, no client sets
     * `HTTP_PROXY`, and a name with an underscore does not pass for one with a hyphen. `/index.php` at the beginning of a
     * path is the front controller, as under nginx: HttpFoundation removes it by the name of the script.
     *
     * @internal
     * @return array<string, string>
     */
    private static function serverVariables(Request $request): array
    {
        $server = [
            'REQUEST_METHOD' => $request->method,
            'REQUEST_URI' => $request->target,
            'QUERY_STRING' => $request->queryString,
            'SERVER_PROTOCOL' => $request->protocol,
            'REMOTE_ADDR' => $request->client(),
            'SCRIPT_NAME' => '/index.php',
            'SCRIPT_FILENAME' => 'index.php',
        ];
        if ($request->isSecure()) {
            $server['HTTPS'] = 'on';
        }
        foreach ($request->headers() as $name => $lines) {
            if ($name === 'proxy' || \preg_match('/^[a-z0-9-]+$/D', (string) $name) !== 1) {
                continue;
            }
            $key = \strtoupper(\strtr((string) $name, '-', '_'));
            $value = \implode($name === 'cookie' ? '; ' : ', ', $lines);
            $server[$key === 'CONTENT_TYPE' || $key === 'CONTENT_LENGTH' ? $key : "HTTP_$key"] = $value;
        }

        return $server;
    }

    /**
     * @internal
     * @return Response|null null when the response was streamed: echoed, with its headers set
     */
    public static function fromSymfony(SymfonyResponse $symfony): ?Response
    {
        $headers = $symfony->headers->allPreserveCaseWithoutCookies();
        $cookies = \array_map('strval', $symfony->headers->getCookies());
        if ($cookies !== []) {
            $headers['Set-Cookie'] = $cookies;
        }
        $headers = self::symfonyHeaders($headers);
        $status = $symfony->getStatusCode();
        if ($symfony instanceof BinaryFileResponse && $status === 200 && !self::isDeletedAfterSend($symfony)) {
            unset($headers[Headers::headerKey($headers, 'Content-Length') ?? '']);

            return Response::file($symfony->getFile()->getPathname(), null, $headers);
        }
        $body = $symfony->getContent();
        if ($body !== false) {
            return new Response($body, $status, $headers);
        }
        if (!\headers_sent()) {
            \http_response_code($status);
            foreach ($headers as $name => $lines) {
                foreach ($lines as $i => $line) {
                    \header("$name: $line", $i === 0 && \strcasecmp($name, 'Set-Cookie') !== 0);
                }
            }
        }
        $symfony->sendContent();

        return null;
    }

    /** @internal */
    private static function isDeletedAfterSend(BinaryFileResponse $response): bool
    {
        return (fn (): bool => $this->deleteFileAfterSend)->call($response);
    }

    /**
     * @internal
     * @param array<string, list<string|null>> $headers
     * @return array<string, list<string>>
     */
    private static function symfonyHeaders(array $headers): array
    {
        return \array_filter(\array_map(
            static fn (array $lines): array => \array_values(\array_filter($lines, '\is_string')),
            $headers,
        ));
    }
}
