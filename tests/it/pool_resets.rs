//! Resets of pooled connections, as a server runs them. What they restore is tested by php/tests.

use testkit::service::Postgres;

use crate::support::{ok, one_worker};

/// The library runs through opcache here, as in production.
#[test]
fn a_connection_of_pgsql_is_lent_again_as_if_it_were_new() {
    let server = one_worker(
        r#"$connect = fn () => pg_connect('host=127.0.0.1 user=postgres dbname=postgres port=' . getenv('PORT'), PGSQL_CONNECT_FORCE_NEW);
        $pool = new Hearth\Pool\Pool($connect, size: 1, minimumIdle: 0, borrowTimeout: 10);
        return fn (Hearth\Request $request) => $pool->with(function ($c) use ($request) {
            if ($request->path === '/leave') {
                pg_query($c, "LISTEN first; NOTIFY first, 'left'; SET application_name = 'left'");
                return 'left';
            }
            return json_encode([pg_get_notify($c), pg_last_notice($c), pg_fetch_result(pg_query($c, 'SHOW application_name'), 0)]);
        });"#,
    )
    .env("PORT", Postgres::shared().port.to_string())
    .start();
    let new = ok(&server.get("/"));
    for _ in 0..2 {
        assert_eq!(ok(&server.get("/leave")), "left");
        assert_eq!(ok(&server.get("/")), new);
    }
    server.stop();
}
