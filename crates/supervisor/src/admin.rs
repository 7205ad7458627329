//! The admin server: `/health`, `/ready`, `/metrics`, `/status`.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use crate::error::Error;
use crate::event::{Command, Event, Events};
use crate::metrics;
use crate::port_owner::port_owner;
use crate::status::Status;
use crate::worker::State;

/// Listens on the address.
pub(crate) async fn open(address: SocketAddr) -> Result<TcpListener, Error> {
    TcpListener::bind(address)
        .await
        .map_err(|source| match source.kind() {
            io::ErrorKind::AddrInUse => Error::PortTaken {
                address: address.to_string(),
                port_owner: port_owner(address),
            },
            _ => Error::Listen {
                address: address.to_string(),
                source,
            },
        })
}

/// Serves until the runtime ends. Returns the address, whose port is chosen by the kernel if 0 was asked for.
pub(crate) fn start(listener: TcpListener, events: Events) -> Result<SocketAddr, Error> {
    let bound = listener.local_addr()?;
    tokio::spawn(async move {
        loop {
            match listener.accept().await {
                Ok((stream, _)) => drop(tokio::spawn(serve(TokioIo::new(stream), events.clone()))),
                // Most likely the process has no free descriptor; some may be closed soon.
                Err(_) => tokio::time::sleep(::server::accept::RETRY_DELAY).await,
            }
        }
    });
    Ok(bound)
}

async fn serve(io: TokioIo<tokio::net::TcpStream>, events: Events) {
    let service = service_fn(|request| answer(request, events.clone()));
    // A client may break off at any time; there is nothing to log.
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .serve_connection(io, service)
        .await;
}

async fn answer(
    request: Request<Incoming>,
    events: Events,
) -> Result<Response<Full<Bytes>>, Infallible> {
    if request.method() != Method::GET && request.method() != Method::HEAD {
        let mut response = text(StatusCode::METHOD_NOT_ALLOWED, "only GET\n".into());
        response
            .headers_mut()
            .insert(ALLOW, "GET, HEAD".parse().expect("a constant"));
        return Ok(response);
    }
    let (reply, status) = oneshot::channel();
    let command = match request.uri().path() {
        "/metrics" | "/status" => Command::StatusWithPools(reply),
        _ => Command::Status(reply),
    };
    events.send(Event::Command(command));
    let Ok(status) = status.await else {
        return Ok(text(StatusCode::SERVICE_UNAVAILABLE, "stopping\n".into()));
    };
    Ok(match request.uri().path() {
        "/health" => text(code(status.healthy), health(&status)),
        "/ready" => text(code(status.ready), format!("{}\n", status.state)),
        "/metrics" => typed(
            StatusCode::OK,
            "text/plain; version=0.0.4; charset=utf-8",
            metrics::page(&status),
        ),
        "/status" => match serde_json::to_string(&status) {
            Ok(json) => typed(StatusCode::OK, "application/json", json),
            Err(e) => text(StatusCode::INTERNAL_SERVER_ERROR, e.to_string()),
        },
        _ => text(
            StatusCode::NOT_FOUND,
            "try /health, /ready, /metrics or /status\n".into(),
        ),
    })
}

fn health(status: &Status) -> String {
    let ready = status
        .workers
        .iter()
        .filter(|worker| worker.state == State::Ready)
        .count();
    format!(
        "{}: {ready} workers ready, {} slots\n",
        status.state, status.slots
    )
}

fn code(good: bool) -> StatusCode {
    if good {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    }
}

fn text(code: StatusCode, body: String) -> Response<Full<Bytes>> {
    typed(code, "text/plain; charset=utf-8", body)
}

fn typed(code: StatusCode, kind: &'static str, body: String) -> Response<Full<Bytes>> {
    let response = Response::builder()
        .status(code)
        .header(CONTENT_TYPE, kind)
        .header(CACHE_CONTROL, "no-store");
    response
        .body(Full::new(Bytes::from(body)))
        .expect("constants make a valid response")
}
