<?php

declare(strict_types=1);

namespace Guestbook;

/** The HTML page. */
final class Page
{
    private const STYLE = 'body{font:16px/1.5 system-ui,sans-serif;max-width:40rem;margin:2rem auto;padding:0 1rem}'
        . 'article{border-top:1px solid #ccc;padding:.5rem 0}article p{white-space:pre-wrap;margin:.2rem 0}'
        . 'label{display:block;margin:.5rem 0}input,textarea{width:100%;font:inherit}time{color:#666;font-size:.9rem}'
        . '.note{background:#e8f5e9;padding:.5rem}.problem{color:#b00020}';

    /**
     * @param list<Entry> $entries
     * @param bool $newer whether there may be newer entries than these
     * @param int|null $older the id before which older entries follow, null if there are none
     * @param string $token proves that a form was ours
     * @param string|null $note said once
     * @param array<string, string> $problems by field
     * @param array<string, string> $typed what was typed, by field
     */
    public static function render(
        array $entries,
        bool $newer,
        ?int $older,
        string $token,
        ?string $note = null,
        array $problems = [],
        array $typed = [],
    ): string {
        $note = $note === null ? '' : '<p class="note">' . self::escape($note) . '</p>';
        $list = \implode("\n", \array_map(self::entry(...), $entries)) ?: '<p>There are no entries yet.</p>';
        $newest = $newer ? '<p><a href="/">Newest entries</a></p>' : '';
        $more = $older === null ? '' : "<p><a href=\"/?before=$older\">Older entries</a></p>";
        $form = self::form($token, $problems, $typed);

        return self::html("$note\n$form\n$newest\n$list\n$more");
    }

    /** A page that says only this. */
    public static function problem(string $text): string
    {
        return self::html('<p class="problem">' . self::escape($text) . '</p><p><a href="/">To the guestbook</a></p>');
    }

    private static function html(string $content): string
    {
        $style = self::STYLE;

        return <<<HTML
            <!doctype html>
            <html lang="en">
            <head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Guestbook</title><style>$style</style></head>
            <body>
            <h1>Guestbook</h1>
            $content
            </body>
            </html>

            HTML;
    }

    private static function entry(Entry $entry): string
    {
        $name = self::escape($entry->name);
        $message = self::escape($entry->message);
        $at = \gmdate(\DATE_ATOM, $entry->at);
        $shown = \gmdate('j F Y, H:i', $entry->at);

        return "<article id=\"entry-$entry->id\"><strong>$name</strong> <time datetime=\"$at\">$shown UTC</time><p>$message</p></article>";
    }

    /**
     * @param array<string, string> $problems
     * @param array<string, string> $typed
     */
    private static function form(string $token, array $problems, array $typed): string
    {
        $problem = static fn (string $field): string => isset($problems[$field])
            ? '<span class="problem">' . self::escape($problems[$field]) . '</span>'
            : '';
        $value = static fn (string $field): string => self::escape($typed[$field] ?? '');

        return <<<HTML
            <form method="post" action="/">
            <input type="hidden" name="token" value="{$token}">
            <label>Name {$problem('name')}<input name="name" maxlength="80" required value="{$value('name')}"></label>
            <label>Message {$problem('message')}<textarea name="message" maxlength="2000" rows="4" required>
            {$value('message')}</textarea></label>
            <button>Write</button>
            </form>
            HTML;
    }

    private static function escape(string $text): string
    {
        return \htmlspecialchars($text, \ENT_QUOTES | \ENT_SUBSTITUTE | \ENT_HTML5, 'UTF-8');
    }
}
