//! The door: where the front sends this worker connections, and hears when they are done with.

use std::cell::RefCell;
use std::os::fd::OwnedFd;
use std::rc::Rc;

use http1::Fields;
use ipc::{Channel, Ends, FromDoor, Origin, ToDoor};
use php::Client;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::net::UnixStream;
use tokio::task::spawn_local;

use crate::connection::{self, tcp_client};
use crate::worker::{Worker, receive};
use crate::{descriptors, log};

/// One connection of the front's. Requests that were asked on it hold it too: when the last lets go, the front is told
/// that it is done with.
pub(crate) struct Passage {
    door: Rc<AsyncFd<Channel>>,
    connection: u64,
    /// The client of the request before, which is likely the same.
    client: RefCell<Option<(String, Rc<Client>)>>,
}

/// Whose request it is, as the front says.
pub(crate) struct Caller {
    pub(crate) id: u64,
    pub(crate) is_http10: bool,
    pub(crate) client: Rc<Client>,
}

impl Passage {
    /// A request has ended that went on after its response.
    pub(crate) fn ended(&self, leaves: bool) {
        self.say(FromDoor::Ended {
            connection: self.connection,
            leaves,
        });
    }

    /// If the front is gone, nobody waits for this.
    fn say(&self, what: FromDoor) {
        if let Err(error) = self.door.get_ref().try_send(&what, &[])
            && !error.is_closed()
        {
            log::alert(format_args!("cannot tell the front: {error}"));
        }
    }

    /// Take the front's header out of a request.
    pub(crate) fn caller(&self, fields: &mut Fields) -> Option<Caller> {
        let origin = Origin::parse(fields.text(ipc::CLIENT_HEADER)?)?;
        let caller = Caller {
            id: origin.id,
            is_http10: origin.is_http10,
            client: self.client(origin.ends)?,
        };
        fields.remove(ipc::CLIENT_HEADER);
        Some(caller)
    }

    fn client(&self, ends: &str) -> Option<Rc<Client>> {
        if let Some((text, client)) = &*self.client.borrow()
            && text == ends
        {
            return Some(Rc::clone(client));
        }
        let parsed = Ends::parse(ends)?;
        let client = match (parsed.peer, parsed.local) {
            (Some(peer), Some(local)) => tcp_client(peer, local),
            _ => Client::default(),
        };
        let client = Rc::new(Client {
            secure: parsed.secure,
            ..client
        });
        self.client
            .replace(Some((ends.to_owned(), Rc::clone(&client))));
        Some(client)
    }
}

impl Drop for Passage {
    fn drop(&mut self) {
        self.say(FromDoor::Closed {
            connection: self.connection,
        });
    }
}

/// Serve what comes through the door until it is closed.
pub(crate) fn open(worker: &Rc<Worker>, door: Channel) -> std::io::Result<()> {
    let door = Rc::new(descriptors::watch(door, Interest::READABLE)?);
    spawn_local(listen(Rc::clone(worker), door));
    Ok(())
}

async fn listen(worker: Rc<Worker>, door: Rc<AsyncFd<Channel>>) {
    loop {
        match receive::<ToDoor>(&door).await {
            Ok(Some((ToDoor::Connect { connection }, mut fds))) => {
                let passage = Passage {
                    door: Rc::clone(&door),
                    connection,
                    client: RefCell::default(),
                };
                serve(&worker, passage, fds.pop());
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

fn serve(worker: &Rc<Worker>, passage: Passage, fd: Option<OwnedFd>) {
    let stream = fd.map(|fd| UnixStream::from_std(fd.into()));
    match stream {
        Some(Ok(stream)) => {
            spawn_local(connection::serve(
                Rc::clone(worker),
                stream,
                Client::default(),
                Some(Rc::new(passage)),
            ));
        }
        Some(Err(error)) => log::error(format_args!(
            "cannot serve a connection of the front: {error}"
        )),
        None => log::alert("the front sent a connection without its descriptor"),
    }
}
