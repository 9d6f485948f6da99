// SPDX-License-Identifier: GPL-2.0-only
//! Requests of the API: method, path, query and JSON body, up to the operation, which is not run.

#[allow(dead_code, unreachable_pub)] // the server uses the rest
#[path = "../../cli/src/api/query.rs"]
mod query;
#[allow(dead_code, missing_docs)]
#[path = "../../cli/src/api/registry.rs"]
mod registry;
#[allow(dead_code, missing_docs)]
#[path = "../../cli/src/api/request.rs"]
mod request;

use hyper::{Method, Uri};
use request::{Refusal, Role};

/// Reads a request, as root's and as a reader's.
///
/// # Panics
/// Where a GET or a reader may change something, or a refusal is no refusal.
pub(crate) fn run(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let mut words = head.lines().next().unwrap_or_default().split(' ');
    let method = words.next().and_then(|word| Method::from_bytes(word.as_bytes()).ok());
    let uri = words.next().and_then(|word| word.parse::<Uri>().ok());
    let (Some(method), Some(uri)) = (method, uri) else { return };
    if let Err(Refusal(status, fault)) = ask(&method, &uri, body.as_bytes()) {
        assert!(status.is_client_error(), "{status} for {method} {uri}");
        assert!(!fault.to_string().is_empty());
    }
}

fn ask(method: &Method, uri: &Uri, body: &[u8]) -> Result<(), Refusal> {
    let entry = request::entry_of(method, uri.path())?;
    let is_get = method == Method::GET;
    let asked = if is_get {
        request::of_query(entry, uri.query().unwrap_or_default())?
    } else {
        request::of_json(entry, body)?
    };
    if request::allow(entry, (1000, Role::Read), &*asked, is_get).is_ok() {
        assert!(!asked.changes() && !asked.opens_paths() && entry.reads, "a reader may {method} {uri}");
    }
    let by_root = request::allow(entry, (0, Role::Change), &*asked, is_get);
    assert_eq!(by_root.is_err(), is_get && asked.changes());
    assert!(!asked.is_dry_run() || asked.changes());
    by_root
}
