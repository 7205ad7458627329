<?php

declare(strict_types=1);

// A random one of 100,000 rows as JSON, by PDO, by Illuminate's query builder or by an Eloquent model. ORM says which; `id` in the query
// string says which row, so that answers can be compared.

require_once AUTOLOAD;

use Illuminate\Database\Connection;
use Illuminate\Database\ConnectionInterface;
use Illuminate\Database\ConnectionResolverInterface;
use Illuminate\Database\Eloquent\Model;
use Illuminate\Database\MySqlConnection;
use Illuminate\Database\SQLiteConnection;

final class World extends Model
{
    public $timestamps = false;
    protected $table = 'world';
}

final class OnlyConnection implements ConnectionResolverInterface
{
    public function __construct(private readonly ConnectionInterface $connection)
    {
    }

    public function connection($name = null): ConnectionInterface
    {
        return $this->connection;
    }

    public function getDefaultConnection(): string
    {
        return 'bench';
    }

    public function setDefaultConnection($name): void
    {
    }
}

function boot(): void
{
    error_reporting(E_ALL & ~E_DEPRECATED);
}

/** Illuminate's own object for the connection; a process that stays keeps it. */
function illuminate(): Connection
{
    static $kept = null;
    $class = str_starts_with(DSN, 'sqlite:') ? SQLiteConnection::class : MySqlConnection::class;

    return $kept ??= new $class(connection(), 'bench');
}

function respond(string $path, string $query): string
{
    $id = preg_match('/\bid=(\d+)/', $query, $match) === 1 ? (int) $match[1] : mt_rand(1, 100_000);
    if (ORM === 'pdo') {
        $db = connection();
        $statement = $db->prepare('SELECT * FROM world WHERE id = ?');
        $statement->execute([$id]);
        $row = $statement->fetch(PDO::FETCH_ASSOC);
        $statement = null;
        give_back($db);

        return json_encode($row);
    }
    if (ORM === 'builder') {
        return json_encode(illuminate()->table('world')->where('id', $id)->first());
    }
    Model::setConnectionResolver(new OnlyConnection(illuminate()));

    return json_encode(World::find($id));
}
