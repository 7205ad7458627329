//! ext/soap in a worker of many requests.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use testkit::{Server, ServerBuilder};

use crate::support::ok;

fn server(code: &str) -> ServerBuilder {
    let library = testkit::unpacked_extension("soap");
    Server::script(code)
        .args(["--workers", "1", "--ini"])
        .arg(format!("extension={}", library.display()))
}

#[test]
fn a_soap_server_answers_what_is_no_soap_with_a_fault_and_its_worker_goes_on() {
    let server = server(
        "class Service { public function refuse() { $GLOBALS['soap']->fault('Client', 'refused'); } }
         return function (Hearth\\Request $request) {
             if ($request->method === 'GET') { return (string) getmypid(); }
             $GLOBALS['soap'] = $soap = new SoapServer(null, ['uri' => 'urn:x']);
             $soap->setClass('Service');
             $soap->handle((string) $request->body());
         };",
    )
    .start();
    let process = ok(&server.get("/"));
    let envelope = "<s:Envelope xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\"><s:Body>\
                    <p:refuse xmlns:p=\"urn:x\"/></s:Body></s:Envelope>";
    for (sent, fault) in [("<no soap", "Bad Request"), (envelope, "refused")] {
        let answer = server.connect().post("/", "text/xml", sent);
        assert_eq!(answer.status, 500, "{}", answer.text());
        assert!(answer.text().contains(fault), "{}", answer.text());
    }
    assert_eq!(ok(&server.get("/")), process);
    server.stop();
}

#[test]
fn a_wsdl_that_cannot_be_read_takes_finally_from_no_other_request() {
    let server = server(
        "function steps(array &$said): Generator { try { yield 1; } finally { $said[] = 'finally'; } }
         return function (Hearth\\Request $request) {
             if ($request->path === '/fault') {
                 try { new SoapClient('/nowhere.wsdl'); } catch (SoapFault) { return 'fault'; }
             }
             $said = [];
             $steps = steps($said);
             $steps->current();
             unset($steps);
             return $said[0] ?? 'nothing';
         };",
    )
    .start();
    assert_eq!(ok(&server.get("/")), "finally");
    assert_eq!(ok(&server.get("/fault")), "fault");
    assert_eq!(ok(&server.get("/")), "finally");
    server.stop();
}

/// A peer that answers SOAP on connections that stay open, and sends for each how many requests it has had once it is closed.
fn peer() -> (String, std::sync::mpsc::Receiver<usize>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let url = format!("http://{}/", listener.local_addr().expect("an address"));
    let (closed, closes) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let closed = closed.clone();
            std::thread::spawn(move || closed.send(answer_all(&stream.expect("a connection"))));
        }
    });
    (url, closes)
}

fn answer_all(stream: &TcpStream) -> usize {
    let text = "<s:Envelope xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\"><s:Body><r><v>said</v></r></s:Body></s:Envelope>";
    let mut lines = BufReader::new(stream).lines();
    let mut requests = 0;
    while lines
        .by_ref()
        .any(|line| line.is_ok_and(|line| line.ends_with("Envelope>")))
    {
        requests += 1;
        let length = text.len();
        write!(
            &mut &*stream,
            "HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\nContent-Length: {length}\r\n\r\n{text}"
        )
        .expect("the client reads");
    }
    requests
}

#[test]
fn the_connection_of_a_client_ends_with_it() {
    let (url, closes) = peer();
    let server = server(
        "$kept = null;
         return function (Hearth\\Request $request) use (&$kept) {
             $client = new SoapClient(null, ['location' => getenv('PEER'), 'uri' => 'urn:x']);
             if ($request->path === '/keep') { $kept ??= $client; $client = $kept; }
             return $client->ask();
         };",
    )
    .env("PEER", &url)
    .start();
    for _ in 0..3 {
        assert_eq!(ok(&server.get("/keep")), "said");
        assert_eq!(ok(&server.get("/")), "said");
        assert_eq!(closes.recv_timeout(Duration::from_secs(10)), Ok(1));
    }
    server.stop();
    assert_eq!(closes.recv_timeout(Duration::from_secs(10)), Ok(3));
}

/// Whether a client that asks for the cache in memory leaves a file of the cache on disk.
fn leaves_a_file(concurrency: &str) -> bool {
    let cache = testkit::temporary();
    let wsdl = "<definitions targetNamespace=\"urn:x\" xmlns=\"http://schemas.xmlsoap.org/wsdl/\" \
                xmlns:t=\"urn:x\" xmlns:soap=\"http://schemas.xmlsoap.org/wsdl/soap/\"><portType name=\"P\"/>\
                <binding name=\"B\" type=\"t:P\"><soap:binding transport=\"http://schemas.xmlsoap.org/soap/http\"/></binding>\
                <service name=\"S\"><port name=\"Q\" binding=\"t:B\"><soap:address location=\"http://127.0.0.1:1/\"/></port>\
                </service></definitions>";
    let server = server(
        "return function () {
             ini_set('soap.wsdl_cache', '3');
             new SoapClient(__DIR__ . '/x.wsdl', ['cache_wsdl' => WSDL_CACHE_MEMORY]);
             return 'made';
         };",
    )
    .file("x.wsdl", wsdl)
    .args(["--concurrency", concurrency, "--ini"])
    .arg(format!("soap.wsdl_cache_dir={}", cache.path().display()))
    .start();
    assert_eq!(ok(&server.get("/")), "made");
    server.stop();
    std::fs::read_dir(cache.path())
        .expect("it is there")
        .count()
        > 0
}

#[test]
fn requests_at_the_same_time_share_no_wsdl_in_memory() {
    assert!(leaves_a_file("64"));
    assert!(!leaves_a_file("1"));
}

/// A worker that never ends kept a resource for each request of each client, before PHP 8.4.
#[test]
fn the_urls_of_a_client_end_with_it() {
    let (url, _closes) = peer();
    let server = server(
        "$kept = null;
         return function (Hearth\\Request $request) use (&$kept) {
             if ($request->path === '/urls') { return (string) count(array_keys(array_map('get_resource_type', get_resources()), 'SOAP URL')); }
             $client = new SoapClient(null, ['location' => getenv('PEER'), 'uri' => 'urn:x']);
             if ($request->path === '/keep') { $kept ??= $client; $client = $kept; }
             return implode(',', [$client->ask(), $client->ask(), $client->ask()]);
         };",
    )
    .env("PEER", &url)
    // Otherwise get_resources() is refused.
    .args(["--concurrency", "1"])
    .start();
    for path in ["/", "/keep", "/", "/keep"] {
        assert_eq!(ok(&server.get(path)), "said,said,said", "{path}");
    }
    // PHP 8.4 has no resource for it. The client that is kept has one.
    let left = ok(&server.get("/urls"));
    assert!(
        ["0", "1"].contains(&left.as_str()),
        "{left} URLs of one client"
    );
    server.stop();
}
