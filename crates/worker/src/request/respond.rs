//! Completes the response of a request: what its task made, or an error response in its place.

use std::rc::Rc;
use std::task::{Context, Poll};

use http1::{BodyError, Rejection};
use php::Response;

use super::RequestFuture;
use crate::response::body::ResponseBody;
use crate::response::send_file;
use crate::response::{HttpResponse, convert, plain};

impl RequestFuture {
    /// Completes the head of the response, and ends everything that belongs to the request except its task.
    pub(super) fn finish_response(&mut self, answer: &mut HttpResponse) {
        if self.end_signal.is_none() && self.worker.is_draining() {
            answer.head.fields.set("Connection", "close");
        }
        // The code of a streamed response still runs.
        if let Some(timings) = self.request.timings()
            && !matches!(answer.body, ResponseBody::Stream(_))
        {
            timings.ends();
        }
        self.detach(answer.head.status);
        self.done(answer.head.status);
    }

    pub(super) fn done(&mut self, status: u16) {
        self.worker.finished(self.ticket.take(), status);
    }

    /// Runs the task, until there is a response.
    pub(super) fn poll_answer(&mut self, context: &mut Context<'_>) -> Poll<HttpResponse> {
        let ended = self.run(context);
        if let Some(response) = self.request.take_response() {
            return Poll::Ready(self.answer(response));
        }
        if !ended && !self.request.is_given_up() {
            return Poll::Pending;
        }
        let mut answer = match ended {
            true => plain(500, "Internal Server Error\n"),
            false => plain(504, "Gateway Timeout\n"),
        };
        self.finish_response(&mut answer);
        Poll::Ready(answer)
    }

    fn answer(&mut self, response: Response) -> HttpResponse {
        let mut answer = match self.request.body_error() {
            Some(error) => self.refuse(error),
            None => self.converted(response),
        };
        if self.end_signal.is_none() {
            answer = answer.map(|body| body.bounded(&self.worker.permits));
        }
        self.cancel_on_hangup(&mut answer);
        self.finish_response(&mut answer);
        answer
    }

    fn converted(&self, mut response: Response) -> HttpResponse {
        let named = send_file::answer(&self.request, &self.worker.sendfile, &mut response);
        named.unwrap_or_else(|| {
            let is_head = self.request.head().is_head();
            convert(response, self.worker.classic.is_some(), is_head)
        })
    }

    /// Returns the error response to a body that was not received as the client sent it; it takes the place of PHP's
    /// response.
    pub(super) fn refuse(&self, error: BodyError) -> HttpResponse {
        let (status, why) = (error.status(), error.text());
        let refused = Rejection::new(status, why, self.request.head());
        let client = self.request.client().socket();
        self.worker.http.log_rejection(&refused, client);
        let mut answer = plain(status, why);
        answer.head.fields.push("Connection", "close");
        answer
    }

    /// Makes a streamed response cancel its request when the client leaves. Not for HEAD, because its body is dropped
    /// anyway, nor in classic mode, where a script learns of the hang-up when it sends something.
    fn cancel_on_hangup(&self, answer: &mut HttpResponse) {
        if let ResponseBody::Stream(pipe) = &mut answer.body
            && let Some(task) = &self.task
            && self.worker.classic.is_none()
            && !self.request.head().is_head()
        {
            let (worker, cancel) = (Rc::clone(&self.worker), task.canceller());
            pipe.written_by(move || cancel(worker.why_cancelled()));
        }
    }
}
