//! A client's connection: reads requests and sends responses until either side ends the connection.
//!
//! **When a client hangs up.** EOF from a client means that it has left, or only that it has nothing more to send
//! (`shutdown(SHUT_WR)`, `nc -N`); TCP does not tell which before a write fails. As in nginx in front of php-fpm, EOF counts
//! as leaving as soon as a response has to be waited for: the request is cancelled. A response that is there at once is sent
//! all the same. A service may continue without its client ([`Service::outlasts_sending`]). The check costs a request
//! nothing: it only asks for readiness, when the connection has nothing else to do.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use crate::body::Body;
use crate::connection_io::{ConnectionIo, NoHead};
use crate::connection_state::{ConnectionState, Phase};
use crate::encode::{self, Encoded, Framing};
use crate::endpoints::Endpoints;
use crate::exchange::Exchange;
use crate::framing::RequestFraming;
use crate::head::{RequestHead, Response};
use crate::incoming::Incoming;
use crate::output::Output;
use crate::parse::{Limits, ParseError};
use crate::rejection::{self, Rejection};
use crate::settings::{Settings, or_most};
use crate::stream::Stream;

/// The service that answers requests.
pub trait Service {
    type Body: Body + Unpin;

    /// Serves a request. If the future is dropped before it is ready, the client is gone.
    fn call(
        &self,
        head: RequestHead,
        body: Option<Incoming>,
    ) -> impl Future<Output = Response<Self::Body>>;

    /// Returns whether the request continues, and its response is sent, although the client has closed its sending side
    /// while it waits, and probably has left. Called whenever the connection is polled.
    fn outlasts_sending(&self) -> bool {
        false
    }

    /// Called before the first request if the peer is a proxy whose PROXY protocol header names a client.
    fn stands_for(&self, _: Endpoints) {}

    /// Called when the connection itself has rejected a request or given up on a client, without the service.
    fn refused(&self, _: &Rejection<'_>) {}

    /// Called when the request of the last [`Service::call`] is over: its response was sent or cut off, or its client has
    /// left.
    fn ended(&self, _: &Exchange) {}
}

/// The options of a connection.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    pub limits: Limits,
    /// The maximum size of a request's body in bytes.
    pub body: u64,
    /// Requests until the connection is closed.
    pub requests: u64,
    /// Whether responses get a Date field.
    pub date: bool,
    /// Whether a PROXY protocol header may come first.
    pub proxy_protocol: bool,
}

impl From<&Settings> for Options {
    fn from(settings: &Settings) -> Options {
        Options {
            limits: settings.limits(),
            body: or_most(settings.max_body),
            requests: or_most(settings.max_requests.into()),
            date: true,
            proxy_protocol: false,
        }
    }
}

impl Default for Options {
    fn default() -> Options {
        Options::from(&Settings::default())
    }
}

/// Serves the requests on `stream` until either side ends the connection. Errors are not returned: each is caused by the
/// client and concerns only this connection.
pub async fn serve<S: Stream>(
    stream: S,
    state: Rc<ConnectionState>,
    service: &impl Service,
    options: Options,
) {
    let io = Rc::new(ConnectionIo::new(stream, state));
    {
        let mut requests = pin!(requests(&io, service, options));
        poll_fn(|context| {
            io.state.set_waker(context.waker());
            if io.state.take_body_timed_out() {
                io.body_timed_out();
            }
            if requests.as_mut().poll(context).is_ready() || io.state.is_cut_off() {
                return Poll::Ready(());
            }
            match io.poll_hung_up(context) {
                Poll::Ready(()) if service.outlasts_sending() => Poll::Pending,
                hung_up => hung_up,
            }
        })
        .await;
    }
    if let Some(why) = io.state.why_given_up() {
        service.refused(&Rejection {
            status: None,
            why: why.into(),
            request: match io.state.phase() {
                Phase::Header => io.first_line().into(),
                _ => Vec::new().into(),
            },
            sent: 0,
        });
    }
    end_exchange(&io, service, false);
    io.close();
}

fn end_exchange<S: Stream>(io: &ConnectionIo<S>, service: &impl Service, is_complete: bool) {
    if let Some(exchange) = io.end_exchange(is_complete) {
        service.ended(&exchange);
    }
}

async fn requests<S: Stream>(io: &Rc<ConnectionIo<S>>, service: &impl Service, options: Options) {
    if options.proxy_protocol {
        match poll_fn(|context| io.poll_proxy_header(context)).await {
            Ok(Some(endpoints)) => service.stands_for(endpoints),
            Ok(None) => {}
            Err(why) => return no_head(io, service, options, why).await,
        }
    }
    let mut left = options.requests;
    loop {
        let head = match poll_fn(|context| io.poll_head(context, options.limits)).await {
            Ok(head) => head,
            Err(why) => return no_head(io, service, options, why).await,
        };
        let mut framing =
            match RequestFraming::of(&head).and_then(|framing| framing.up_to(options.body)) {
                Ok(framing) => framing,
                Err(error) => {
                    let request = rejection::beginning(&head);
                    service.refused(&Rejection::of(error, &options, request));
                    return refuse(io, error).await;
                }
            };
        left -= 1;
        framing.keep_alive &= left > 0;
        let body = io.begin_body(&framing, options.body);
        io.state.work(Phase::Busy);
        let response = service.call(head, body).await;
        match answer(io, service, response, (framing, options)).await {
            Ok(true) => io.state.enter(Phase::Idle),
            Ok(false) => return leave(io).await,
            Err(_) => {
                end_exchange(io, service, false);
                return leave_broken(io).await;
            }
        }
    }
}

/// Responds to a head that cannot be parsed; nothing is to be done if the client has left.
async fn no_head<S: Stream>(
    io: &Rc<ConnectionIo<S>>,
    service: &impl Service,
    options: Options,
    why: NoHead,
) {
    if let NoHead::Rejection(error) = why {
        let refused = Rejection::of(error, &options, io.first_line());
        service.refused(&refused);
        refuse(io, error).await;
    }
}

/// Sends the response; returns whether another request may follow.
async fn answer<S: Stream, V: Service>(
    io: &Rc<ConnectionIo<S>>,
    service: &V,
    response: Response<V::Body>,
    (mut request, options): (RequestFraming, Options),
) -> io::Result<bool> {
    if response.body.length().is_some() {
        io.state.work(Phase::Sending);
    }
    request.keep_alive &= io.begin_answer() && !io.state.is_ending();
    let Encoded {
        status,
        framing,
        keep_alive,
    } = io.with_output(|output| {
        let length = response.body.length();
        encode::head(
            output.buffer(),
            &response.head,
            &request,
            length,
            options.date,
        )
    });
    io.answers_with(status);
    let mut sending = Sending::new(response.body, framing);
    if !keep_alive {
        io.set_endless(framing == Framing::UntilClose);
    }
    poll_fn(|context| sending.poll(io, context)).await?;
    drop(sending);
    end_exchange(io, service, true);
    io.state.work(Phase::Sending);
    if !keep_alive {
        io.set_endless(false);
        return Ok(false);
    }
    let can_go_on = io.is_at_end() || poll_fn(|context| io.poll_rest(context)).await;
    Ok(can_go_on && !io.state.is_ending())
}

/// Bytes of a body after which the other connections get a turn: a connection whose client reads as fast as the server sends
/// never waits by itself.
const YIELD_AFTER: usize = 256 * 1024;

/// The body of a response that is being sent.
struct Sending<B> {
    /// `None` when the whole body is in the output, or no more comes.
    body: Option<B>,
    framing: Framing,
    failed: Option<io::Error>,
    /// Bytes taken from the body in this turn.
    taken: usize,
}

impl<B: Body> Sending<B> {
    fn new(mut body: B, framing: Framing) -> Sending<B> {
        if framing == Framing::Length(0) {
            body.was_sent();
        }
        let has_body = !matches!(framing, Framing::None | Framing::Length(0));
        Sending {
            body: has_body.then_some(body),
            framing,
            failed: None,
            taken: 0,
        }
    }

    fn poll<S: Stream>(
        &mut self,
        io: &ConnectionIo<S>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        self.taken = 0;
        loop {
            let waits = self.fill(io, context).is_pending();
            if io.poll_flush(context)?.is_pending() {
                self.body.as_mut().map(Body::stalled);
                io.with_output(Output::detach);
                return Poll::Pending;
            }
            if self.body.is_none() {
                return Poll::Ready(self.failed.take().map_or(Ok(()), Err));
            }
            if waits {
                return Poll::Pending;
            }
            if self.taken >= YIELD_AFTER {
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
        }
    }

    /// Moves the pieces of the body that are ready to the output, as far as that has room.
    fn fill<S: Stream>(&mut self, io: &ConnectionIo<S>, context: &mut Context<'_>) -> Poll<()> {
        while let Some(body) = &mut self.body
            && io.with_output(|output| output.has_room())
        {
            let piece = ready!(body.poll_piece(context)).transpose();
            if let Ok(Some(piece)) = &piece {
                if body.yields() {
                    self.taken += piece.len();
                }
                io.sends(self.framing.room().min(piece.len() as u64));
            }
            let is_last =
                piece.and_then(|piece| io.with_output(|output| self.framing.push(output, piece)));
            match is_last {
                Ok(false) => {}
                Ok(true) => {
                    body.was_sent();
                    self.body = None;
                }
                // The pieces before the error are sent all the same.
                Err(error) => (self.body, self.failed) = (None, Some(error)),
            }
        }
        Poll::Ready(())
    }
}

/// Ends the connection after the last response.
async fn leave<S: Stream>(io: &Rc<ConnectionIo<S>>) {
    if !io.has_unread() {
        return;
    }
    // A client that sees EOF may stop sending a body that is not read.
    let _ = poll_fn(|context| io.poll_shutdown(context)).await;
    let is_read = poll_fn(|context| io.poll_rest(context)).await;
    if !is_read || io.has_unread() {
        linger(io).await;
    }
}

/// Ends the connection after the response was cut off, or the client has gone. What was sent still arrives, unless the
/// response's body ends with the connection: then the close must not look like the body's end.
async fn leave_broken<S: Stream>(io: &Rc<ConnectionIo<S>>) {
    if !io.is_endless() {
        leave(io).await;
    }
}

async fn refuse<S: Stream>(io: &Rc<ConnectionIo<S>>, error: ParseError) {
    io.with_output(|output| encode::error(output.buffer(), error));
    if poll_fn(|context| io.poll_flush(context)).await.is_ok() {
        let _ = poll_fn(|context| io.poll_shutdown(context)).await;
        linger(io).await;
    }
}

/// Reads until the client closes its side. If the socket were closed with unread bytes, the kernel would reset the
/// connection, and the response might be lost on its way.
async fn linger<S: Stream>(io: &Rc<ConnectionIo<S>>) {
    io.state.enter(Phase::Lingering);
    poll_fn(|context| io.poll_linger(context)).await;
}
