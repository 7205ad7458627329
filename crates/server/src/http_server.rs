//! State that all clients' connections of one thread share: settings, limits, the access log, counters.

use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use config::Settings;
use http1::{
    Admission, Connections, Peer, Rejection, RejectionLog, RequestHead, Timeouts, TrustedProxies,
};
use shm::{Counter, Writer};
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::timeout;

use crate::access::AccessLog;
use crate::{RequestIds, Routes};

/// How long connections may take to end when they are cut off.
const LAST: Duration = Duration::from_millis(100);

/// The HTTP server of one thread.
pub struct HttpServer {
    http: Cell<http1::Settings>,
    admission: Cell<Admission>,
    trusted_proxies: RefCell<Rc<TrustedProxies>>,
    pub connections: Connections,
    pub(crate) listeners: RefCell<Vec<AbortHandle>>,
    request_ids: RequestIds,
    pub(crate) routes: Routes,
    /// Paths whose requests are run even if their client left while they waited.
    without_client: RefCell<Routes>,
    pub access: Rc<AccessLog>,
    rejections: RejectionLog,
    /// Whether the log has named a proxy that is missing from the configuration.
    has_advised: Cell<bool>,
    pub board: Rc<Writer>,
    /// Wakes the periodic sweep of this thread, which pauses while there is nothing to check.
    pub clock: Notify,
    /// Notified when a connection has ended.
    changed: Rc<Notify>,
}

impl HttpServer {
    /// Makes a server. Its access log has no target before [`HttpServer::change`].
    #[must_use]
    pub fn new(
        settings: &Settings,
        connections: Connections,
        request_ids: RequestIds,
        board: Rc<Writer>,
        changed: Rc<Notify>,
    ) -> HttpServer {
        let access = AccessLog::install();
        access.complain_to(|message| logging::warning!("{message}"));
        HttpServer {
            http: Cell::new(settings.http),
            admission: Cell::new(Admission::new(&settings.http)),
            trusted_proxies: RefCell::new(Rc::new(settings.trusted_proxies.clone())),
            connections,
            listeners: RefCell::default(),
            request_ids,
            routes: Routes::new(&settings.metrics_routes),
            without_client: RefCell::default(),
            access,
            rejections: RejectionLog::default(),
            has_advised: Cell::new(false),
            board,
            clock: Notify::new(),
            changed,
        }
    }

    /// Applies settings from now on; open connections keep the limits that they began with.
    pub fn change(&self, settings: &Settings) {
        http1::set_spool_limit(settings.http.max_spool);
        self.http.set(settings.http);
        self.admission.set(Admission::new(&settings.http));
        let trusted = Rc::new(settings.trusted_proxies.clone());
        self.trusted_proxies.replace(trusted);
        self.without_client
            .replace(Routes::new(&settings.ignore_client_abort));
        self.access
            .change(settings.access_log.as_ref(), settings.access_format);
    }

    pub(crate) fn options(&self, peer: &Peer) -> http1::Options {
        http1::Options {
            proxy_protocol: peer.is_proxy(),
            ..http1::Options::from(&self.http.get())
        }
    }

    pub(crate) fn admission(&self) -> Admission {
        self.admission.get()
    }

    pub(crate) fn trusted_proxies(&self) -> Rc<TrustedProxies> {
        Rc::clone(&self.trusted_proxies.borrow())
    }

    pub(crate) fn next_request_id(&self) -> u64 {
        self.request_ids.next()
    }

    /// Whether a request that waits for its turn is not run once its client has left.
    #[must_use]
    pub fn leaves_with_client(&self, head: &RequestHead) -> bool {
        head.is_safe() && self.without_client.borrow().of(head.path()) == 0
    }

    /// Logs that a request was refused (rate-limited).
    pub fn log_rejection(&self, rejection: &Rejection<'_>, client: Option<SocketAddr>) {
        if let Some(line) = self.rejections.line(rejection, client) {
            logging::info!("{line}");
        }
    }

    /// Logs, once, that a proxy is most likely missing from the configuration.
    pub(crate) fn advise_on_proxy(&self, peer: &Peer, head: &RequestHead) {
        if !self.has_advised.get()
            && let Some(advice) = peer.advice(head)
        {
            self.has_advised.set(true);
            logging::info!("{advice}");
        }
    }

    pub(crate) fn count_bytes(&self, received: u64, sent: u64) {
        self.board.count(Counter::BytesIn, received);
        self.board.count(Counter::BytesOut, sent);
    }

    /// Notes that a connection has ended.
    pub(crate) fn closed(&self, key: usize) {
        self.connections.closed(key);
        self.board.count(Counter::ConnectionsClosed, 1);
        self.changed.notify_waiters();
    }

    /// Closes connections that have timed out. While this process drains, idle connections have `leaving` milliseconds.
    pub fn close_silent(&self, leaving: Option<u64>) {
        let timeouts = Timeouts::new(&self.http.get(), leaving);
        self.connections.close_silent(&timeouts);
    }

    /// Stops accepting connections.
    pub fn stop_listening(&self) {
        self.listeners.take().iter().for_each(AbortHandle::abort);
    }

    /// Waits until no connection is open.
    pub async fn all_closed(&self) {
        loop {
            let changed = self.changed.notified();
            if self.connections.is_empty() {
                return;
            }
            changed.await;
        }
    }

    /// Ends connections whose requests were not done in time, so that no response looks complete.
    pub async fn cut_off(&self) {
        logging::warning!(
            "time to finish is over: leaving with {} connections open",
            self.connections.count()
        );
        // Only a connection itself can make sure that its response does not look complete.
        self.connections.cut_off();
        let _ = timeout(LAST, self.all_closed()).await;
    }
}
