<?php

declare(strict_types=1);

namespace Hearth\Internal;

use Hearth\Response;

/**
 * Makes a response from the value that a handler returned.
 *
 * @internal
 */
final class ResponseConverter
{
    /**
     * Makes a response from the value that a handler returned, unless that is a string, null or a `Hearth\Response`, which
     * the server handles itself.
     *
     * @internal called by the server
     * @return Response|null null when the response was echoed
     * @throws \TypeError when a handler must not return a value of that type
     * @throws \JsonException
     */
    public static function toResponse(mixed $value): ?Response
    {
        if (\is_array($value) || $value instanceof \JsonSerializable) {
            return Response::json($value);
        }
        if ($value instanceof Response) {
            return $value;
        }
        if ($value instanceof \Psr\Http\Message\ResponseInterface) {
            return PsrBridge::fromPsr($value);
        }
        if ($value instanceof \Symfony\Component\HttpFoundation\Response) {
            return SymfonyBridge::fromSymfony($value);
        }
        if (\is_string($value) || $value instanceof \Traversable) {
            return new Response($value);
        }
        $what = $value === null ? 'null' : \get_debug_type($value);
        throw new \TypeError(
            "the handler returned $what. It may return a Hearth\\Response, a string, an array or JsonSerializable (sent as JSON), "
            . 'an iterable of strings (streamed), a PSR-7 response, or null (what was echoed is sent)',
        );
    }
}
