<?php

declare(strict_types=1);

namespace Guestbook;

use Hearth\Request;
use Hearth\Response;

/** Which request is answered how. Holds nothing that belongs to one request: many run at the same time. */
final class Guestbook
{
    private const PER_PAGE = 20;
    private const MOST = 100;

    public function __construct(private readonly Entries $entries)
    {
    }

    public function handle(Request $request): Response|string
    {
        $path = $request->path;
        $reading = \in_array($request->method, ['GET', 'HEAD'], true);

        return match (true) {
            $path === '/' && $reading => $this->page($request),
            $path === '/' && $request->method === 'POST' => $this->write($request),
            $path === '/api/entries' && $reading => $this->list($request),
            $path === '/api/entries' && $request->method === 'POST' => $this->create($request),
            $path === '/', $path === '/api/entries' => self::problem(405, 'Use GET or POST.')->withHeader('Allow', 'GET, HEAD, POST'),
            \preg_match('~^/api/entries/(\d{1,18})$~D', $path, $found) === 1 => $reading
                ? $this->show((int) $found[1])
                : self::problem(405, 'Use GET.')->withHeader('Allow', 'GET, HEAD'),
            \str_starts_with($path, '/api/') => self::problem(404, "There is no $path here."),
            default => new Response(Page::problem("There is no $path here."), 404),
        };
    }

    private function page(Request $request): Response
    {
        $token = self::token($request) ?? \bin2hex(\random_bytes(16));
        $note = $request->cookie('note');
        $before = self::number($request->query('before'));
        $page = new Response($this->render($before, $token, \is_string($note) && $note !== '' ? $note : null));
        if (self::token($request) === null) {
            $page = $page->withCookie('token', $token, sameSite: 'Strict');
        }

        return $note === null ? $page : $page->withoutCookie('note');
    }

    private function write(Request $request): Response
    {
        $token = self::token($request);
        $sent = $request->form('token');
        if ($token === null || !\is_string($sent) || !\hash_equals($token, $sent)) {
            return new Response(Page::problem('The form was not ours or is too old: load the page again.'), 403);
        }
        $name = Entry::normalized($request->form('name'));
        $message = Entry::normalized($request->form('message'));
        $problems = Entry::problems($name, $message);
        if ($problems !== []) {
            $typed = \array_filter(['name' => $name, 'message' => $message], 'is_string');

            return new Response($this->render(null, $token, null, $problems, $typed), 422);
        }
        $this->entries->add($name, $message);

        return Response::redirect('/', 303)->withCookie('note', "Thank you, $name!");
    }

    private function list(Request $request): Response
    {
        $limit = \max(1, \min(self::MOST, self::number($request->query('limit')) ?? self::PER_PAGE));

        return Response::json(['entries' => $this->entries->latest($limit, self::number($request->query('before')))]);
    }

    private function show(int $id): Response
    {
        $entry = $this->entries->find($id);

        return $entry === null ? self::problem(404, "There is no entry $id.") : Response::json($entry);
    }

    private function create(Request $request): Response
    {
        try {
            $sent = $request->json();
        } catch (\JsonException $exception) {
            return self::problem(400, "The body is not JSON: {$exception->getMessage()}.");
        }
        $name = Entry::normalized(\is_array($sent) ? $sent['name'] ?? null : null);
        $message = Entry::normalized(\is_array($sent) ? $sent['message'] ?? null : null);
        $problems = Entry::problems($name, $message);
        if ($problems !== []) {
            return self::problem(422, \implode(' ', $problems));
        }
        $entry = $this->entries->add($name, $message);

        return Response::json($entry, 201)->withHeader('Location', "/api/entries/$entry->id");
    }

    /**
     * @param array<string, string> $problems
     * @param array<string, string> $typed
     */
    private function render(?int $before, string $token, ?string $note = null, array $problems = [], array $typed = []): string
    {
        $entries = $this->entries->latest(self::PER_PAGE + 1, $before);
        $shown = \array_slice($entries, 0, self::PER_PAGE);
        $older = \count($entries) > self::PER_PAGE ? $shown[self::PER_PAGE - 1]->id : null;

        return Page::render($shown, $before !== null, $older, $token, $note, $problems, $typed);
    }

    /** The token by which a form proves that it was ours; null if the browser has none yet. */
    private static function token(Request $request): ?string
    {
        $token = $request->cookie('token');

        return \is_string($token) && \preg_match('/^[0-9a-f]{32}$/D', $token) === 1 ? $token : null;
    }

    private static function number(mixed $text): ?int
    {
        return \is_string($text) && \preg_match('/^\d{1,18}$/D', $text) === 1 ? (int) $text : null;
    }

    private static function problem(int $status, string $message): Response
    {
        return Response::json(['error' => $message], $status);
    }
}
