//! The door: through it the front gives this worker a consumer at the dispatcher of each of its threads.

use std::os::fd::OwnedFd;
use std::rc::Rc;

use ipc::{Channel, ToDoor};
use php::Host as _;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::task::spawn_local;

use crate::link::Links;
use crate::worker::{Worker, receive};
use crate::{descriptors, log};

/// Serve what comes through the door until it is closed.
pub(crate) fn open(worker: &Rc<Worker>, door: Channel) -> std::io::Result<()> {
    let door = descriptors::watch(door, Interest::READABLE)?;
    spawn_local(listen(Rc::clone(worker), door));
    Ok(())
}

async fn listen(worker: Rc<Worker>, door: AsyncFd<Channel>) {
    let links = Links::open(&worker);
    loop {
        match receive::<ToDoor>(&door).await {
            Ok(Some((ToDoor::Serve { consumer }, fds))) => {
                serve(&worker, &links, consumer, fds);
            }
            Ok(None) => break,
            Err(error) => {
                log::alert(format_args!(
                    "the front said something we do not understand: {error}"
                ));
                break;
            }
        }
    }
    worker.door_closed();
}

/// Take the consumer.
fn serve(worker: &Worker, links: &Rc<Links>, consumer: u16, fds: Vec<OwnedFd>) {
    if let Err(error) = links.add(consumer, fds) {
        // Out of memory or of descriptors: one that could not be asked anything would only be in the way.
        let reason = format!("it cannot serve the front: {error}");
        log::error(&reason);
        worker.host.leave(&reason);
    }
}
