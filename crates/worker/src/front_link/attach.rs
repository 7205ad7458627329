//! The front channel, through which each thread of the front attaches this worker to its dispatcher.

use std::os::fd::OwnedFd;
use std::rc::Rc;

use ipc::{Channel, FrontToWorker};
use php::Host as _;
use server::channel;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::task::spawn_local;

use crate::front_link::Links;
use crate::worker::Worker;

/// Handles the messages of the front channel until it is closed.
pub(crate) fn open(worker: &Rc<Worker>, front_channel: Channel) -> std::io::Result<()> {
    let front_channel = channel::watch(front_channel, Interest::READABLE)?;
    spawn_local(listen(Rc::clone(worker), front_channel));
    Ok(())
}

async fn listen(worker: Rc<Worker>, front_channel: AsyncFd<Channel>) {
    let links = Links::open(&worker);
    loop {
        match channel::receive::<FrontToWorker>(&front_channel).await {
            Ok(Some((FrontToWorker::Attach { consumer }, fds))) => {
                serve(&worker, &links, consumer, fds);
            }
            Ok(None) => break,
            Err(error) => {
                logging::alert!("invalid message from the front: {error}");
                break;
            }
        }
    }
    worker.front_channel_closed();
}

/// Lets this worker claim requests as `consumer`.
fn serve(worker: &Worker, links: &Rc<Links>, consumer: u16, fds: Vec<OwnedFd>) {
    if let Err(error) = links.add(consumer, fds) {
        // Memory or descriptors are exhausted. A worker that gets no requests would only take the place of another.
        let reason = format!("it cannot serve the front: {error}");
        logging::error!("{reason}");
        worker.host.leave(&reason, false);
    }
}
