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
use crate::encode::{self, Encoded, Framing};
use crate::framing::Asked;
use crate::head::{RequestHead, Response};
use crate::incoming::Incoming;
use crate::life::{Life, Phase};
use crate::output::Output;
use crate::parse::{Limits, Refusal};
use crate::refused::{self, Refused};
use crate::settings::{Settings, or_most};
use crate::stream::Stream;
use crate::wire::{NoHead, Wire};

/// Who answers requests.
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

    /// A request was answered, or its connection closed, without it.
    fn refused(&self, _: &Refused<'_>) {}
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
}

impl From<&Settings> for Options {
    fn from(settings: &Settings) -> Options {
        Options {
            limits: settings.limits(),
            body: or_most(settings.max_body),
            requests: or_most(settings.max_requests.into()),
            date: true,
        }
    }
}

impl Default for Options {
    fn default() -> Options {
        Options::from(&Settings::default())
    }
}

/// Serve what comes on `stream` until either side has had enough. What goes wrong on a connection is the client's doing,
/// and told to nobody else.
pub async fn serve<S: Stream>(stream: S, life: Rc<Life>, service: &impl Service, options: Options) {
    let wire = Rc::new(Wire::new(stream, life));
    {
        let mut requests = pin!(requests(&wire, service, options));
        poll_fn(|context| {
            wire.life.set_waker(context.waker());
            if wire.life.take_body_timed_out() {
                wire.body_timed_out();
            }
            if requests.as_mut().poll(context).is_ready() || wire.life.is_cut_off() {
                return Poll::Ready(());
            }
            match wire.poll_hung_up(context) {
                Poll::Ready(()) if service.outlasts_sending() => Poll::Pending,
                hung_up => hung_up,
            }
        })
        .await;
    }
    if let Some(why) = wire.life.why_given_up() {
        service.refused(&Refused {
            status: None,
            why: why.into(),
            request: match wire.life.phase() {
                Phase::Header => wire.first_line().into(),
                _ => Vec::new().into(),
            },
        });
    }
    wire.close();
}

async fn requests<S: Stream>(wire: &Rc<Wire<S>>, service: &impl Service, options: Options) {
    let mut left = options.requests;
    loop {
        let head = match poll_fn(|context| wire.poll_head(context, options.limits)).await {
            Ok(head) => head,
            Err(NoHead::End) => return,
            Err(NoHead::Refused(refusal)) => {
                let refused = Refused::of(refusal, &options, wire.first_line());
                service.refused(&refused);
                return refuse(wire, refusal).await;
            }
        };
        let mut asked = match Asked::of(&head).and_then(|asked| asked.up_to(options.body)) {
            Ok(asked) => asked,
            Err(refusal) => {
                let request = refused::beginning(&head);
                service.refused(&Refused::of(refusal, &options, request));
                return refuse(wire, refusal).await;
            }
        };
        left -= 1;
        asked.keep_alive &= left > 0;
        let body = wire.begin_body(&asked, options.body);
        wire.life.work(Phase::Busy);
        let response = service.call(head, body).await;
        match answer(wire, response, asked, options).await {
            Ok(true) => wire.life.enter(Phase::Idle),
            Ok(false) => return leave(wire).await,
            Err(_) => return leave_broken(wire).await,
        }
    }
}

/// Send the answer; whether another request may follow.
async fn answer<S: Stream, B: Body + Unpin>(
    wire: &Rc<Wire<S>>,
    response: Response<B>,
    mut asked: Asked,
    options: Options,
) -> io::Result<bool> {
    if response.body.length().is_some() {
        wire.life.work(Phase::Sending);
    }
    asked.keep_alive &= wire.begin_answer() && !wire.life.is_ending();
    let Encoded {
        framing,
        keep_alive,
    } = wire.with_output(|output| {
        let length = response.body.length();
        encode::head(
            output.buffer(),
            &response.head,
            &asked,
            length,
            options.date,
        )
    });
    let mut sending = Sending::new(response.body, framing);
    if !keep_alive {
        wire.set_endless(framing == Framing::UntilClose);
    }
    poll_fn(|context| sending.poll(wire, context)).await?;
    drop(sending);
    wire.life.work(Phase::Sending);
    if !keep_alive {
        wire.set_endless(false);
        return Ok(false);
    }
    let can_go_on = wire.is_at_end() || poll_fn(|context| wire.poll_rest(context)).await;
    Ok(can_go_on && !wire.life.is_ending())
}

/// The body of an answer on its way.
struct Sending<B> {
    /// `None` when all of it is in the output, or no more will come.
    body: Option<B>,
    framing: Framing,
    failed: Option<io::Error>,
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
        }
    }

    fn poll<S: Stream>(
        &mut self,
        wire: &Wire<S>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            let waits = self.fill(wire, context).is_pending();
            if wire.poll_flush(context)?.is_pending() {
                self.body.as_mut().map(Body::stalled);
                wire.with_output(Output::detach);
                return Poll::Pending;
            }
            if self.body.is_none() {
                return Poll::Ready(self.failed.take().map_or(Ok(()), Err));
            }
            if waits {
                return Poll::Pending;
            }
        }
    }

    /// Take of the body what is there and has room.
    fn fill<S: Stream>(&mut self, wire: &Wire<S>, context: &mut Context<'_>) -> Poll<()> {
        while let Some(body) = &mut self.body
            && wire.with_output(|output| output.has_room())
        {
            let piece = ready!(body.poll_piece(context)).transpose();
            let is_last =
                piece.and_then(|piece| wire.with_output(|output| self.framing.push(output, piece)));
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
async fn leave<S: Stream>(wire: &Rc<Wire<S>>) {
    if !wire.has_unread() {
        return;
    }
    // Who hears of the end may stop sending what nobody reads.
    let _ = poll_fn(|context| wire.poll_shutdown(context)).await;
    let is_read = poll_fn(|context| wire.poll_rest(context)).await;
    if !is_read || wire.has_unread() {
        linger(wire).await;
    }
}

/// The answer broke off, or the client is gone. What was sent is not lost, unless the end of it is the end of the connection: that
/// must not look like one.
async fn leave_broken<S: Stream>(wire: &Rc<Wire<S>>) {
    if !wire.is_endless() {
        leave(wire).await;
    }
}

async fn refuse<S: Stream>(wire: &Rc<Wire<S>>, refusal: Refusal) {
    wire.with_output(|output| encode::refusal(output.buffer(), refusal));
    if poll_fn(|context| wire.poll_flush(context)).await.is_ok() {
        let _ = poll_fn(|context| wire.poll_shutdown(context)).await;
        linger(wire).await;
    }
}

/// Closed with bytes unread, the kernel would reset the connection, and the answer might be lost on its way.
async fn linger<S: Stream>(wire: &Rc<Wire<S>>) {
    wire.life.enter(Phase::Leaving);
    poll_fn(|context| wire.poll_linger(context)).await;
}
