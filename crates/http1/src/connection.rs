//! One client's connection: requests in, answers out, until either side has had enough.
//!
//! **When a client hangs up.** Whether the end of what a client sends means that it left or only that it has no more to
//! say (`shutdown(SHUT_WR)`, `nc -N`), TCP does not tell before a write fails. As nginx does in front of php-fpm, the end
//! counts as leaving as soon as an answer has to be waited for: its request is cancelled. An answer that is there at
//! once is sent all the same. A service may go on without its client ([`Service::outlasts_sending`]). The look costs nothing
//! per request: it is one question about readiness, asked only when nothing else is left to do.

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

    /// Answer a request. If the future is dropped before it is ready, the client is gone.
    fn call(
        &self,
        head: RequestHead,
        body: Option<Incoming>,
    ) -> impl Future<Output = Response<Self::Body>>;

    /// The client has ended its sending while it waits for its answer, and has left for all that is known: whether the request
    /// goes on, and an answer to it is sent. Asked whenever the connection is looked at.
    fn outlasts_sending(&self) -> bool {
        false
    }

    /// The peer is a proxy and has said whose connection this is, before the first request.
    fn stands_for(&self, _: Endpoints) {}

    /// A request was answered, or its connection closed, without it.
    fn refused(&self, _: &Rejection<'_>) {}

    /// The request of the last [`Service::call`] is over: its answer was sent, or broke off, or its client has left.
    fn ended(&self, _: &Exchange) {}
}

/// What a connection may and does.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    pub limits: Limits,
    /// The most bytes of a body.
    pub body: u64,
    /// Requests until it is closed.
    pub requests: u64,
    /// Answers have a Date field.
    pub date: bool,
    /// A header of the PROXY protocol may come first.
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

/// Serve what comes on `stream` until either side has had enough. What goes wrong on a connection is the client's doing,
/// and told to no other.
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
        let mut asked = match RequestFraming::of(&head).and_then(|asked| asked.up_to(options.body))
        {
            Ok(asked) => asked,
            Err(error) => {
                let request = rejection::beginning(&head);
                service.refused(&Rejection::of(error, &options, request));
                return refuse(io, error).await;
            }
        };
        left -= 1;
        asked.keep_alive &= left > 0;
        let body = io.begin_body(&asked, options.body);
        io.state.work(Phase::Busy);
        let response = service.call(head, body).await;
        match answer(io, service, response, (asked, options)).await {
            Ok(true) => io.state.enter(Phase::Idle),
            Ok(false) => return leave(io).await,
            Err(_) => {
                end_exchange(io, service, false);
                return leave_broken(io).await;
            }
        }
    }
}

/// Nothing that could be answered has come.
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

/// Send the answer; whether another request may follow.
async fn answer<S: Stream, V: Service>(
    io: &Rc<ConnectionIo<S>>,
    service: &V,
    response: Response<V::Body>,
    (mut asked, options): (RequestFraming, Options),
) -> io::Result<bool> {
    if response.body.length().is_some() {
        io.state.work(Phase::Sending);
    }
    asked.keep_alive &= io.begin_answer() && !io.state.is_ending();
    let Encoded {
        status,
        framing,
        keep_alive,
    } = io.with_output(|output| {
        let length = response.body.length();
        encode::head(
            output.buffer(),
            &response.head,
            &asked,
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

/// Bytes of a body after which the other connections have their turn: one whose client reads as fast as it is sent to never waits by
/// itself.
const TURN: usize = 256 * 1024;

/// The body of an answer on its way.
struct Sending<B> {
    /// `None` when all of it is in the output, or no more will come.
    body: Option<B>,
    framing: Framing,
    failed: Option<io::Error>,
    /// Bytes that were taken of it in this turn.
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
            if self.taken >= TURN {
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
        }
    }

    /// Take of the body what is there and has room.
    fn fill<S: Stream>(&mut self, io: &ConnectionIo<S>, context: &mut Context<'_>) -> Poll<()> {
        while let Some(body) = &mut self.body
            && io.with_output(|output| output.has_room())
        {
            let piece = ready!(body.poll_piece(context)).transpose();
            if let Ok(Some(piece)) = &piece {
                if body.leaves_turns() {
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
                // What came before it is sent all the same.
                Err(error) => (self.body, self.failed) = (None, Some(error)),
            }
        }
        Poll::Ready(())
    }
}

/// The last answer is sent.
async fn leave<S: Stream>(io: &Rc<ConnectionIo<S>>) {
    if !io.has_unread() {
        return;
    }
    // A client that sees the end may stop sending what is not read.
    let _ = poll_fn(|context| io.poll_shutdown(context)).await;
    let is_read = poll_fn(|context| io.poll_rest(context)).await;
    if !is_read || io.has_unread() {
        linger(io).await;
    }
}

/// The answer broke off, or the client is gone. What was sent is not lost, unless the end of it is the end of the connection: that
/// must not look like one.
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

/// Closed with bytes unread, the kernel would reset the connection, and the answer might be lost on its way.
async fn linger<S: Stream>(io: &Rc<ConnectionIo<S>>) {
    io.state.enter(Phase::Leaving);
    poll_fn(|context| io.poll_linger(context)).await;
}
