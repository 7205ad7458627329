//! Delivers a response to the front: in the slot if it fits there, else through the stream.

use std::io::{self, IoSlice};

use http1::Body as _;
use relay::frame::{ResponseFrame, ResponseHead, ResponsePayload, StreamFrame};
use relay::{RequestKey, SLOT_CAPACITY};
use std::task::Poll;

use super::{EndSignal, FrontLink};
use crate::response::HttpResponse;
use crate::response::body::ResponseBody;

impl FrontLink {
    /// Delivers the response; returns true if the request has ended with it.
    pub(super) async fn deliver(
        &self,
        key: RequestKey,
        mut answer: HttpResponse,
        is_head: bool,
        end_signal: &EndSignal,
    ) -> bool {
        let (mut fields, mut frame) = self.all.answer.take();
        fields.clear();
        frame.clear();
        self.publish_times(key, end_signal);
        let closes = answer.head.fields.remove("Connection");
        answer.head.fields.pack(&mut fields);
        let head = ResponseHead {
            status: answer.head.status,
            closes,
            reason: &answer.head.reason,
            fields: &fields,
        };
        let ended = match &answer.body {
            ResponseBody::Full(bytes) => {
                let body = bytes.as_deref().unwrap_or_default();
                self.deliver_whole(key, head, body, &mut frame, end_signal)
            }
            _ => false,
        };
        if !ended && frame.is_empty() {
            // The response to HEAD has no body, and yet a length, which the fields contain.
            let length = answer.body.length().filter(|_| !is_head);
            ResponseFrame::Head(head, ResponsePayload::Stream(length)).write_to(&mut frame);
            let body = (answer.body, is_head);
            self.stream(key, &frame, body, end_signal).await;
        }
        self.all.answer.replace((fields, frame));
        ended
    }

    /// Delivers a response that fits in the slot; returns true if the request has ended with it. If the response does not
    /// fit, `frame` stays empty.
    fn deliver_whole(
        &self,
        key: RequestKey,
        head: ResponseHead<'_>,
        body: &[u8],
        frame: &mut Vec<u8>,
        end_signal: &EndSignal,
    ) -> bool {
        if head.fields.len() + head.reason.len() + body.len() + 64 > SLOT_CAPACITY {
            return false;
        }
        ResponseFrame::Head(head, ResponsePayload::Here(body)).write_to(frame);
        let ended = !end_signal.goes_on.get();
        self.notify(self.consumer.answer(key, frame, ended));
        ended
    }

    /// Sends the head through the slot, if it fits, and the body through the stream.
    async fn stream(
        &self,
        key: RequestKey,
        head: &[u8],
        body: (ResponseBody, bool),
        end_signal: &EndSignal,
    ) {
        let fits = head.len() <= SLOT_CAPACITY;
        let then = if fits {
            self.consumer.answer(key, head, false)
        } else {
            let mut long = Vec::new();
            let length = u32::try_from(head.len()).expect("a head is smaller than 4 GiB");
            ResponseFrame::Long(length).write_to(&mut long);
            self.consumer.answer(key, &long, false)
        };
        self.notify(then);
        // If the front has exited, the rest has no reader.
        let _ = self
            .pump(key, if fits { &[] } else { head }, body, end_signal)
            .await;
    }

    async fn pump(
        &self,
        key: RequestKey,
        head: &[u8],
        (mut body, is_head): (ResponseBody, bool),
        end_signal: &EndSignal,
    ) -> io::Result<()> {
        if !head.is_empty() {
            self.send(key, head).await?;
        }
        if is_head {
            return self.send_mark(key, StreamFrame::End).await;
        }
        loop {
            let piece = std::future::poll_fn(|context| {
                if self.is_cancelled(key) {
                    return Poll::Ready(Some(Err(io::ErrorKind::BrokenPipe.into())));
                }
                match self.consumer.is_held(key) {
                    // The front signals when the client has read some of the response.
                    true => Poll::Pending,
                    false => body.poll_piece(context),
                }
            });
            let mark = match piece.await {
                Some(Ok(piece)) => {
                    self.send(key, &piece).await?;
                    continue;
                }
                Some(Err(_)) => StreamFrame::Broken,
                None => StreamFrame::End,
            };
            self.publish_times(key, end_signal);
            return self.send_mark(key, mark).await;
        }
    }

    pub(super) async fn send_mark(&self, key: RequestKey, mark: StreamFrame) -> io::Result<()> {
        self.write(&mark.head(key.seq), &[]).await
    }

    async fn send(&self, key: RequestKey, bytes: &[u8]) -> io::Result<()> {
        for piece in bytes.chunks(1 << 20) {
            let length = u32::try_from(piece.len()).expect("a mebibyte");
            let head = StreamFrame::Bytes(length).head(key.seq);
            self.write(&head, piece).await?;
        }
        Ok(())
    }

    /// Writes a whole frame, even if its client has left: otherwise the front could not tell where the next frame begins.
    async fn write(&self, mut head: &[u8], mut bytes: &[u8]) -> io::Result<()> {
        let _alone = self.writing.lock().await;
        while !head.is_empty() || !bytes.is_empty() {
            self.stream.writable().await?;
            let pieces = [IoSlice::new(head), IoSlice::new(bytes)];
            match self.stream.try_write_vectored(&pieces) {
                Ok(written) => {
                    let of_head = written.min(head.len());
                    head = &head[of_head..];
                    bytes = &bytes[written - of_head..];
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
