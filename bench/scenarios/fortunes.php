<?php

declare(strict_types=1);

// TechEmpower's fortunes: all rows, one more, sorted, escaped, as a page.

function boot(): void
{
}

function respond(): string
{
    $db = connection();
    $statement = $db->prepare('SELECT id, message FROM fortune');
    $statement->execute();
    $fortunes = $statement->fetchAll(PDO::FETCH_KEY_PAIR);
    $statement = null;
    give_back($db);
    $fortunes[0] = 'Additional fortune added at request time.';
    asort($fortunes);
    $html = '<!DOCTYPE html><html><head><title>Fortunes</title></head><body><table><tr><th>id</th><th>message</th></tr>';
    foreach ($fortunes as $id => $message) {
        $html .= "<tr><td>$id</td><td>" . htmlspecialchars($message, ENT_QUOTES, 'UTF-8') . '</td></tr>';
    }

    return $html . '</table></body></html>';
}
