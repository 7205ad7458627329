//! One request on an HTTP/2 stream, and the connection that carries it.

use super::{Engine, Failure, Io};
use crate::clock::Nanos;
use crate::record::{Answer, ClosedBy, Times};
use crate::target::Address;
use bytes::Bytes;
use h2::client::SendRequest;
use measure::{ErrorClass, KeepAlive};
use std::io;
use std::sync::Arc;
use tokio::net::{TcpStream, UnixStream};
use tokio::task::spawn_local;

impl Engine {
    pub(super) async fn exchange(
        &self,
        index: usize,
        request: usize,
        times: &mut Times,
    ) -> Result<(Answer, Vec<u8>), Failure> {
        let (handle, generation) = self.handle(index).await?;
        let lost = |error: h2::Error| failure(&error, generation);
        let mut handle = handle.ready().await.map_err(lost)?;
        let request = &self.plan.requests[request];
        let empty = request.body.is_empty();
        times.sent = self.now();
        let (response, mut upload) = handle
            .send_request(request.h2.clone(), empty)
            .map_err(lost)?;
        if !empty {
            upload.send_data(request.body.clone(), true).map_err(lost)?;
        }
        self.recorder.borrow_mut().tally.sent_bytes += request.bytes.len() as u64;
        let response = response.await.map_err(lost)?;
        times.first = self.now();
        let (answer, kept) = self.receive(response, generation).await?;
        let reused = self.count_on(index, generation).await;
        Ok((Answer { reused, ..answer }, kept))
    }

    /// Reads the response to its end.
    async fn receive(
        &self,
        response: http::Response<h2::RecvStream>,
        generation: u64,
    ) -> Result<(Answer, Vec<u8>), Failure> {
        let status = response.status().as_u16();
        let head_bytes = response
            .headers()
            .iter()
            .map(|(name, value)| name.as_str().len() + value.len() + 4)
            .sum::<usize>() as u64;
        self.record_head(response.headers());
        let keep = self.plan.expect.keep();
        let wanted = if status >= 400 {
            keep.body.max(keep.error_body)
        } else {
            keep.body
        };
        let mut body = response.into_body();
        let (mut kept, mut body_bytes) = (Vec::new(), 0);
        while let Some(data) = body.data().await {
            let data = data.map_err(|error| Failure {
                class: mid_body(&error),
                ..failure(&error, generation)
            })?;
            body_bytes += data.len() as u64;
            kept.extend_from_slice(&data[..data.len().min(wanted.saturating_sub(kept.len()))]);
            let _ = body.flow_control().release_capacity(data.len());
        }
        let answer = Answer {
            status,
            head_bytes,
            body_bytes,
            reused: false,
        };
        Ok((answer, kept))
    }

    /// Counts the request; returns whether its connection had served another before. Drops a connection that has reached
    /// its limit of requests.
    async fn count_on(&self, index: usize, generation: u64) -> bool {
        let connection = &self.connections[index];
        let before = connection.served.get();
        connection.served.set(before + 1);
        if let KeepAlive::Requests(limit) = self.plan.keep_alive
            && before + 1 >= limit
        {
            self.drop_connection(index, generation, ClosedBy::Client)
                .await;
        }
        before > 0
    }

    fn record_head(&self, headers: &http::HeaderMap) {
        if !self.seen_head.replace(true) {
            let server = headers
                .get("server")
                .and_then(|value| value.to_str().ok())
                .map(str::to_owned);
            self.recorder.borrow_mut().tally.server_header = server;
        }
    }

    /// Returns the connection's handle and generation; connects if there is none.
    async fn handle(&self, index: usize) -> Result<(SendRequest<Bytes>, u64), Failure> {
        let connection = &self.connections[index];
        let mut handle = connection.handle.lock().await;
        if let Some(handle) = &*handle {
            return Ok((handle.clone(), connection.generation.get()));
        }
        match self.connect().await {
            Ok(fresh) => {
                connection.failures.set(0);
                connection.served.set(0);
                connection.generation.set(connection.generation.get() + 1);
                *handle = Some(fresh.clone());
                Ok((fresh, connection.generation.get()))
            }
            Err(failure) => {
                connection.failures.set(connection.failures.get() + 1);
                Err(failure)
            }
        }
    }

    pub(super) async fn drop_connection(&self, index: usize, generation: u64, by: ClosedBy) {
        let connection = &self.connections[index];
        let mut handle = connection.handle.lock().await;
        if connection.generation.get() == generation && handle.take().is_some() {
            self.recorder
                .borrow_mut()
                .closed(by, connection.served.replace(0));
        }
    }

    async fn connect(&self) -> Result<SendRequest<Bytes>, Failure> {
        let began = self.now();
        let refused = |error: io::Error| Failure {
            class: crate::engine::connect_class(&error),
            text: error.to_string(),
            fatal: false,
            generation: 0,
        };
        let io: Box<dyn Io> = match &self.plan.target.address {
            Address::Tcp(address) => {
                let stream = TcpStream::connect(address).await.map_err(refused)?;
                let _ = stream.set_nodelay(true);
                Box::new(stream)
            }
            Address::Unix(path) => Box::new(UnixStream::connect(path).await.map_err(refused)?),
        };
        let connected = self.now();
        {
            let tally = &mut self.recorder.borrow_mut().tally;
            tally.opened += 1;
            tally.connect.record(connected - began);
        }
        let io = self.shake_hands(io, connected).await?;
        let (handle, driver) = h2::client::Builder::new()
            .initial_window_size(1 << 20)
            .initial_connection_window_size(1 << 24)
            .enable_push(false)
            .handshake::<_, Bytes>(io)
            .await
            .map_err(|error| failure(&error, 0))?;
        spawn_local(async move {
            let _ = driver.await;
        });
        Ok(handle)
    }

    async fn shake_hands(&self, io: Box<dyn Io>, began: Nanos) -> Result<Box<dyn Io>, Failure> {
        let Some(tls) = &self.plan.tls else {
            return Ok(io);
        };
        let wrong = |text: String| Failure {
            class: ErrorClass::Tls,
            text,
            fatal: false,
            generation: 0,
        };
        let connector = tokio_rustls::TlsConnector::from(Arc::clone(&tls.config));
        let stream = connector
            .connect(tls.name.clone(), io)
            .await
            .map_err(|error| wrong(error.to_string()))?;
        let session = stream.get_ref().1;
        if session.alpn_protocol() != Some(b"h2") {
            return Err(wrong("the server does not offer HTTP/2 (ALPN h2)".into()));
        }
        let suite = session.negotiated_cipher_suite().map(|suite| suite.suite());
        let words = session
            .protocol_version()
            .zip(suite)
            .map(|(version, suite)| format!("{version:?} {suite:?}").replace("TLSv1_", "TLS 1."));
        let mut recorder = self.recorder.borrow_mut();
        recorder.tally.tls.record(self.now() - began);
        recorder.tally.tls_session = recorder.tally.tls_session.take().or(words);
        drop(recorder);
        Ok(Box::new(stream))
    }
}

fn failure(error: &h2::Error, generation: u64) -> Failure {
    let class = match error.get_io().map(io::Error::kind) {
        Some(io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe) => {
            ErrorClass::ResetBeforeFirstByte
        }
        Some(io::ErrorKind::UnexpectedEof) => ErrorClass::EarlyEof,
        _ => ErrorClass::Http2,
    };
    // A reset of one stream leaves the connection usable.
    Failure {
        class,
        text: error.to_string(),
        fatal: !error.is_reset(),
        generation,
    }
}

fn mid_body(error: &h2::Error) -> ErrorClass {
    match error.get_io().map(io::Error::kind) {
        Some(io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe) => {
            ErrorClass::ResetMidBody
        }
        Some(_) => ErrorClass::Truncated,
        None => ErrorClass::Http2,
    }
}
