<?php

declare(strict_types=1);

/** A database connection that no other request of this worker uses; put it back into $free when done. */
function connection(array &$free): PDO
{
    return array_pop($free) ?? new PDO(getenv('DSN'), 'hearth', 'hearth', [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION]);
}
