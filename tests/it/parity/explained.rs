//! The differences that are meant, and why.

use std::sync::OnceLock;

use regex::Regex;

/// A difference that is meant.
#[derive(Debug)]
pub(super) struct Explained {
    /// Which servers agree.
    is: Is,
    /// Which nginx stands before php-fpm.
    nginx: Nginx,
    /// Which shapes: a regular expression for the whole name.
    shape: &'static str,
    /// Which facts: the same.
    fact: &'static str,
    /// Why.
    #[allow(
        dead_code,
        reason = "for readers of the list, or a failure that prints it"
    )]
    why: &'static str,
}

/// Which servers agree.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Is {
    /// Hearth does as php-fpm does; Apache differs.
    Fpm,
    /// Hearth does as Apache does; php-fpm differs.
    Apache,
    /// Hearth differs from both.
    Own,
}

/// Where the version of nginx decides: since 1.23.0 it joins repeated fields for FastCGI as RFC 9110 and RFC 6265 have it
/// (Debian 12 has 1.22, Debian 13 has 1.26).
#[derive(Debug, Clone, Copy, PartialEq)]
enum Nginx {
    Any,
    LastField,
    JoinedFields,
}

impl Explained {
    const fn with(mut self, nginx: Nginx) -> Self {
        self.nginx = nginx;
        self
    }

    /// Whether it is to be expected with the nginx of this machine.
    pub(super) fn applies(&self) -> bool {
        static JOINS: OnceLock<bool> = OnceLock::new();
        let joins = || *JOINS.get_or_init(|| testkit::service::Nginx::version() >= (1, 23));
        match self.nginx {
            Nginx::Any => true,
            Nginx::LastField => !joins(),
            Nginx::JoinedFields => joins(),
        }
    }
}

const fn fpm(shape: &'static str, fact: &'static str, why: &'static str) -> Explained {
    Explained {
        is: Is::Fpm,
        nginx: Nginx::Any,
        shape,
        fact,
        why,
    }
}

const fn apache(shape: &'static str, fact: &'static str, why: &'static str) -> Explained {
    Explained {
        is: Is::Apache,
        nginx: Nginx::Any,
        shape,
        fact,
        why,
    }
}

const fn own(shape: &'static str, fact: &'static str, why: &'static str) -> Explained {
    Explained {
        is: Is::Own,
        nginx: Nginx::Any,
        shape,
        fact,
        why,
    }
}

const RECEIVED: &str = r"(getallheaders|apache_request_headers)\(\)";

pub(super) const EXPLAINED: &[Explained] = &[
    // As php-fpm.
    fpm(
        ".*",
        "REDIRECT_STATUS|DOCUMENT_URI",
        "nginx's parameters; sites written for it read them",
    ),
    fpm(
        ".*",
        "CONTEXT_.*|SERVER_ADMIN|SERVER_SIGNATURE",
        "Apache's own",
    ),
    fpm(
        ".*",
        "SERVER_PORT",
        "the port that was connected to; Apache takes the Host field's word for it",
    ),
    fpm(
        "fields mixed case|fields https|connection fields|fields underscore",
        r"RECEIVED\[.*\]",
        "names in their usual spelling, made from HTTP_*; Apache has them as they were sent",
    ),
    fpm(
        "path info encoded slash",
        "status",
        "%2F is decoded; Apache refuses it unless told (AllowEncodedSlashes)",
    ),
    fpm(
        "path fragment",
        "status",
        "a fragment has no business in a request; only Apache minds",
    ),
    fpm(
        "fields range",
        "status",
        "Apache cuts ranges out of what PHP answers; others leave that to PHP",
    ),
    fpm(
        "path nul",
        "status",
        "refused, but Apache says that it is not there",
    ),
    fpm(
        "options of the server",
        "status",
        "OPTIONS * is no request for a script; Apache answers it itself",
    ),
    fpm(
        "trace",
        "status",
        "refused, as by nginx: an answer that repeats what was sent gives away cookies",
    ),
    // As Apache.
    apache(
        ".*",
        r"REMOTE_USER|PATH_INFO|CONTENT_LENGTH|CONTENT_TYPE|RECEIVED(\[Content-(Length|Type)\]| keys)",
        "what is not there is not set; nginx sends it empty",
    ),
    apache(
        ".*",
        "HTTP_CONTENT_TYPE|HTTP_CONTENT_LENGTH",
        "nginx sends the two a second time as header fields",
    ),
    apache(
        ".*",
        "SERVER_NAME",
        "from the Host field; nginx has the name of its configuration, empty here",
    ),
    apache(
        "http 1.0 without host",
        r"HTTP_HOST|RECEIVED\[Host\]",
        "what is not there is not set; nginx sends it empty",
    ),
    apache(
        "fields repeated",
        r"HTTP_(ACCEPT|X_THING)|RECEIVED\[(Accept|X-Thing)\]",
        "joined by commas, as RFC 9110 has it; nginx sends both and PHP keeps the last",
    )
    .with(Nginx::LastField),
    apache(
        "fields padded",
        r"HTTP_X_PADDED|RECEIVED\[X-Padded\]",
        "tabs around a value are no part of it; nginx keeps them",
    ),
    apache(
        "path info php",
        "PATH_TRANSLATED",
        "the path info below the document root, as CGI says",
    ),
    apache(
        "method lower case",
        "status",
        "nginx refuses it; RFC 9110 knows no case of methods",
    ),
    fpm(
        "length and chunks",
        "status",
        "refused, as by nginx: a client that sends both wants to be understood differently by two servers",
    ),
    apache(
        "form too large in chunks",
        r"error before|(_POST|_REQUEST).*|filter_.*\(POST\)",
        "nginx reads the whole body and announces its length, so PHP refuses it earlier",
    ),
    // Like neither.
    own(".*", "SERVER_SOFTWARE", "each says its own name"),
    own(
        "path info.*|path with space|form to path info|absolute target",
        "PATH_TRANSLATED",
        "the path info below the document root, as CGI says; Apache looks up where that would lead, nginx does not send it",
    ),
    own(
        "path info.*|path with space|form to path info|absolute target",
        "DOCUMENT_URI",
        "the whole path; under nginx what try_files made of it",
    ),
    own(
        "fields mixed case|fields https|connection fields",
        "RECEIVED keys",
        "spelt as php-fpm spells them, without its empty Content-Length and Content-Type",
    ),
    own(
        "cookies fields repeated",
        r"HTTP_COOKIE|_COOKIE.*|RECEIVED\[Cookie\]|filter_input\(COOKIE\)",
        "joined as RFC 6265 joins cookies; a comma would belong to the value, and the last alone would lose some",
    )
    .with(Nginx::LastField),
    fpm(
        "cookies fields repeated",
        r"HTTP_COOKIE|_COOKIE keys|_COOKIE\[a\]|RECEIVED\[Cookie\]|filter_input\(COOKIE\)",
        "joined as RFC 6265 joins cookies; Apache joins by a comma, which belongs to the value",
    )
    .with(Nginx::JoinedFields),
    own(
        "directory without slash",
        "location",
        "relative, so it is right behind any proxy",
    ),
    own(
        "type is empty",
        "CONTENT_TYPE",
        "an empty field is as good as none",
    ),
    own(
        "path plus is no space|fall-back script.*",
        "status",
        "index.php answers for what is not there, scripts too; the peers say 404 for what ends in .php",
    ),
    fpm(
        "absolute target.*",
        "REQUEST_URI",
        "as if it had been sent the usual way; Apache shows the whole target",
    ),
    apache(
        "absolute target.*",
        r"HTTP_HOST|RECEIVED\[Host\]",
        "the target's host, as RFC 9112 has it, whatever the Host field says; nginx hands over that",
    ),
    own(
        "http 1.0 without host",
        "SERVER_NAME",
        "the request names none: our address; Apache has one in its configuration",
    ),
    own(
        "host upper case",
        "SERVER_NAME",
        "as the client spelt it; Apache has it in small letters",
    ),
    own(
        "fields underscore",
        "RECEIVED keys",
        "what nginx hands over, without its empty Content-Length and Content-Type",
    ),
    fpm(
        "cookies fields repeated",
        r"_COOKIE\[b\]",
        "Apache joins by a comma",
    ),
];

/// What the front adds to that, as any proxy does.
pub(super) const FRONT: &[Explained] = &[
    own(
        ".*",
        r"(HTTP_|RECEIVED\[)(CONNECTION|KEEP_ALIVE|TE|TRANSFER_ENCODING|EXPECT|Connection|Keep-Alive|Transfer-Encoding|Expect)\]?|RECEIVED keys",
        "they are about the client's connection, which ends at the front (RFC 9110 §7.6.1)",
    ),
    own(
        "connection fields",
        r"HTTP_X_THING|RECEIVED\[(X-Thing|Te)\]",
        "Connection says that it is about this connection alone",
    ),
    apache(
        "connection fields",
        r"RECEIVED\[Te\]",
        "gone as above; Apache spells it TE",
    ),
    fpm(
        "(form|json) in chunks|form too large in chunks|length and chunks",
        r"CONTENT_LENGTH|RECEIVED\[Content-Length\]",
        "the whole body is there before PHP begins, so its length is known, as behind nginx",
    ),
    fpm(
        "form too large in chunks",
        r"error before|(_POST|_REQUEST).*|filter_.*\(POST\)",
        "so PHP refuses it by its length, as behind nginx",
    ),
];

/// The entry that explains it: its place in both lists together.
pub(super) fn find(
    shape: &str,
    fact: &str,
    [hearth, fpm, apache]: [Option<&String>; 3],
    behind_front: bool,
) -> Option<usize> {
    let is = match () {
        () if hearth == fpm => Is::Fpm,
        () if hearth == apache => Is::Apache,
        () => Is::Own,
    };
    static PATTERNS: OnceLock<Vec<(Regex, Regex)>> = OnceLock::new();
    let patterns = PATTERNS.get_or_init(|| {
        let whole = |text: &str| {
            Regex::new(&format!("^(?:{})$", text.replace("RECEIVED", RECEIVED))).expect("a pattern")
        };
        EXPLAINED
            .iter()
            .chain(FRONT)
            .map(|one| (whole(one.shape), whole(one.fact)))
            .collect()
    });
    let fronts = if behind_front { FRONT } else { &[] };
    patterns
        .iter()
        .zip(EXPLAINED.iter().chain(fronts))
        .position(|((shapes, facts), one)| {
            one.applies() && one.is == is && shapes.is_match(shape) && facts.is_match(fact)
        })
}
