//! The differences that are meant, and why.

/// One of them.
pub(super) struct Meant {
    pub(super) cases: &'static [&'static str],
    /// What Hearth makes of each.
    pub(super) outcome: &'static str,
    #[allow(dead_code, reason = "for the reader of the list")]
    why: &'static str,
}

const fn meant(cases: &'static [&'static str], outcome: &'static str, why: &'static str) -> Meant {
    Meant {
        cases,
        outcome,
        why,
    }
}

pub(super) const MEANT: &[Meant] = &[
    meant(
        &[
            "line with two spaces",
            "line with two spaces before the version",
            "line with a space behind it",
            "line behind a bare carriage return",
        ],
        "400",
        "a request line is three words and two spaces (RFC 9112, section 3): what another server may cut elsewhere is refused",
    ),
    meant(
        &[
            "line that ends with a bare line feed",
            "field that ends with a line feed",
            "field with two carriage returns at its end",
            "fields that end with a line feed",
            "fields that end with line feeds only",
        ],
        "400",
        "a line ends with CR LF: a proxy that sees no end at a bare LF understands another request",
    ),
    meant(
        &["line without a version"],
        "400",
        "HTTP/0.9 has no head and no status; no client of today sends it",
    ),
    meant(
        &["version 1.2", "version 1.9", "version 1.10", "version 1.01"],
        "400",
        "HTTP/1.0 and HTTP/1.1 are what there is, in one digit; hyper refuses the others too",
    ),
    meant(&["version 11.1"], "400", "it has no form of a version"),
    meant(
        &["method PUT"],
        "200 PUT / 0, 200 GET /next 0",
        "what a method means the app says; nginx knows none of them where try_files ends at a directory",
    ),
    meant(
        &["method DELETE"],
        "200 DELETE / 0, 200 GET /next 0",
        "what a method means the app says; nginx knows none of them where try_files ends at a directory",
    ),
    meant(
        &["method PATCH"],
        "200 PATCH / 0, 200 GET /next 0",
        "what a method means the app says; nginx knows none of them where try_files ends at a directory",
    ),
    meant(
        &["method OPTIONS"],
        "200 OPTIONS / 0, 200 GET /next 0",
        "what a method means the app says; nginx knows none of them where try_files ends at a directory",
    ),
    meant(
        &["method PROPFIND"],
        "200 PROPFIND / 0, 200 GET /next 0",
        "what a method means the app says; nginx knows none of them where try_files ends at a directory",
    ),
    meant(
        &["method that is unknown"],
        "200 BREW / 0, 200 GET /next 0",
        "what a method means the app says; nginx knows none of them where try_files ends at a directory",
    ),
    meant(
        &["method with a dash"],
        "200 M-SEARCH / 0, 200 GET /next 0",
        "what a method means the app says; nginx knows none of them where try_files ends at a directory",
    ),
    meant(
        &["method with an underscore"],
        "200 GET_IT / 0, 200 GET /next 0",
        "what a method means the app says; nginx knows none of them where try_files ends at a directory",
    ),
    meant(
        &["method of 40 letters"],
        "200 XXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXX / 0, 200 GET /next 0",
        "what a method means the app says; nginx knows none of them where try_files ends at a directory",
    ),
    meant(
        &["method in small letters"],
        "200 get / 0, 200 GET /next 0",
        "methods are told apart by case, and are any token (RFC 9110, section 9.1); what there is, the app says",
    ),
    meant(
        &["method with a digit"],
        "200 G3T / 0, 200 GET /next 0",
        "methods are told apart by case, and are any token (RFC 9110, section 9.1); what there is, the app says",
    ),
    meant(
        &["requests with a body without a length between them"],
        "200 POST /a 0, 200 abcGET /next 0",
        "methods are told apart by case, and are any token (RFC 9110, section 9.1); what there is, the app says",
    ),
    meant(
        &["method of 100 letters"],
        "400",
        "no method has more than 64 letters",
    ),
    meant(
        &["method TRACE", "method CONNECT with an authority"],
        "405, 200 GET /next 0",
        "refused, and the connection goes on: where the request ends is known",
    ),
    meant(
        &[
            "method OPTIONS of the server",
            "target with a percent sign",
            "target with no hex digits",
            "target with an encoded NUL",
            "target above the root",
            "target far above the root",
            "target above the root, encoded",
        ],
        "400, 200 GET /next 0",
        "refused, and the connection goes on: where the request ends is known",
    ),
    meant(
        &["method CONNECT with a path"],
        "400",
        "CONNECT names an authority, and no path",
    ),
    meant(
        &["target that is absolute, with a query only"],
        "200 GET /?a 0, 200 GET /next 0",
        "PHP sees a path in front of the query, as if it had been sent the usual way",
    ),
    meant(
        &["target that is absolute, with a user"],
        "200 GET /a 0, 200 GET /next 0",
        "a user before the host is left out, as browsers do",
    ),
    meant(
        &[
            "target that is absolute, with a long port",
            "host with a port of letters",
            "host with a negative port",
            "host with a long port",
            "host with two ports",
            "host with a bracket that is not closed",
            "host with a backslash",
            "host with a user",
            "host with a comma",
            "host with marks",
            "host with a quote",
            "host with UTF-8",
        ],
        "400",
        "apps print hosts and build addresses of them: a host is a name or an address, and a port of digits",
    ),
    meant(
        &[
            "field without a colon",
            "field with a control character",
            "field with a delete character",
            "field with bytes in its name",
            "field with a parenthesis in its name",
        ],
        "400",
        "a field is a token, a colon and a value without control characters (RFC 9110, section 5); nginx drops the field or passes it on",
    ),
    meant(
        &["field with a value of 40,000 bytes", "fields, 200 of them"],
        "431",
        "a status of its own tells that the head is too large (RFC 6585); there is a most number of fields",
    ),
    meant(
        &[
            "body that is cut",
            "body that does not come",
            "chunk that is cut",
            "chunks without the last",
            "chunks without their end",
        ],
        "400",
        "a client that has ended its sending may still read: it is told why its request was not run",
    ),
    meant(
        &["coding behind a tab"],
        "200 POST / 3, 200 GET /next 0",
        "a tab is white space around a value (RFC 9110, section 5.6.3)",
    ),
    meant(
        &["coding behind a vertical tab"],
        "400",
        "a vertical tab is no white space, and no part of a value",
    ),
    meant(
        &[
            "chunk with many zeros before its size",
            "chunk with a line feed in its extension",
            "chunk with an extension of 20,000 bytes",
            "chunk with line feeds only",
            "chunk that ends with a line feed",
            "chunk with a line feed behind its size",
            "chunks that end with a line feed",
            "chunks with a trailer without a colon",
            "chunks with a trailer with a NUL",
            "chunks with a trailer that ends with a line feed",
            "chunks with a trailer of 70,000 bytes",
        ],
        "400",
        "lines of chunks are as strict as those of heads, and as bounded",
    ),
    meant(
        &["chunk of 64 bits"],
        "413",
        "it is a number, of more than a body may have",
    ),
    meant(
        &["connection closed"],
        "200 GET / 0, 200 GET /next 0",
        "an option of another name is another option; nginx looks for the letters",
    ),
    meant(
        &[
            "expectation",
            "expectation in capitals",
            "expectation with chunks",
        ],
        "200 POST / 3, 200 GET /next 0",
        "the body is there already (RFC 9110, section 10.1.1)",
    ),
    meant(
        &["expectation of a GET"],
        "200 GET / 0, 200 GET /next 0",
        "there is no body to wait for",
    ),
    meant(
        &["preface of HTTP/2"],
        "505",
        "a version that is not spoken, as in any other request",
    ),
    meant(
        &["coding behind another field of gzip"],
        "501",
        "a coding that is not supported, wherever it stands",
    ),
];
