<?php

declare(strict_types=1);

// One query by key over a connection of this request's own. SITE/dsn.php is made by bench/classic.

$db = new PDO(require __DIR__ . '/dsn.php', 'hearth', 'hearth', [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION]);
$row = $db->query('SELECT id, name, price FROM items WHERE id = ' . mt_rand(1, 10000))->fetch(PDO::FETCH_ASSOC);

header('Content-Type: application/json');
echo json_encode($row);
