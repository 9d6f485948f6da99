// SPDX-License-Identifier: MIT OR Apache-2.0
//! The API: the same answers as without a daemon, as its own document describes them, to those who may ask.

use crate::support;
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixListener;
use std::process::Command;
use std::time::Duration;

use ccctl_testbed::{run, Cgroup, HostState, Network, Output};
use serde_json::{json, Value};
use support::daemon::Daemon;
use support::{ccctl, Folder, CCCTL};

/// Everything that ccctl does, one after the other, right and wrong.
const COMMANDS: &[&[&str]] = &[
    &["algorithms"],
    &["show", "cubic"],
    &["show", "cubci"],
    &["check", "reno"],
    &["check", "none.o"],
    &["doctor"],
    &["default"],
    &["load", "cubic", "--as", "apione", "--set", "beta=0.8", "--set", "slow_start_exit=hystart++"],
    &["load", "cubic", "--as", "apione", "--set", "beta=0.8", "--set", "slow_start_exit=hystart++"],
    &["load", "cubic", "--as", "apione"],
    &["load", "cubic", "--as", "apitwo", "--profile", "linux", "--default"],
    &["load", "cubic", "--as", "reno"],
    &["load", "cubic", "--as", "much_too_long_a_name"],
    &["list"],
    &["show", "apione"],
    &["default", "reno"],
    &["default", "apione"],
    &["default", "apithree"],
    &["tune", "apione", "beta=0.9", "slow_start_exit=loss"],
    &["tune", "apione", "beta=0.9"],
    &["tune", "apione", "beta=5"],
    &["tune", "apinone", "beta=0.9"],
    &["swap", "apione", "--with", "scalable"],
    &["swap", "apione", "--with", "scalabel"],
    &["migrate", "--instance", "apione", "--to", "reno", "--dry-run"],
    &["migrate", "--instance", "apione", "--to", "apinone"],
    &["assign", "--cgroup", "/apinone", "apione"],
    &["assign", "--cgroup", "/apinone", "--absent-ok", "--dst", "10.1.0.0/16", "apione=1,reno=2"],
    &["assign", "--cgroup", "/apinone", "--absent-ok", "--dst", "10.1.0.0/16", "apinone"],
    &["rules"],
    &["why", "--pid", "1"],
    &["guard"],
    &["guard", "rearm", "apione"],
    &["unassign", "--cgroup", "/apinone"],
    &["unassign", "--all"],
    &["sockets", "--instance", "apione"],
    &["sockets", "--instance", "apinone"],
    &["migrate", "--instance", "apione", "--to", "reno"],
    &["unload", "apinone"],
    &["unload", "apione", "apitwo", "--migrate-to", "reno"],
    &["list"],
];

#[test]
fn every_command_answers_the_same_with_and_without_a_daemon() {
    support::test("same answers", 120, || {
        let default = support::json(&["default", "--json"])["congestion_control"].as_str().unwrap().to_owned();
        let without: Vec<Output> = COMMANDS.iter().flat_map(|words| both(words, &ccctl)).collect();
        support::succeeds(&["default", &default]);
        let daemon = Daemon::start("same", "");
        let with: Vec<Output> = COMMANDS.iter().flat_map(|words| both(words, &|words| daemon.ccctl(words))).collect();
        support::succeeds(&["default", &default]);
        for ((words, without), with) in COMMANDS.iter().flat_map(|words| [words, words]).zip(without).zip(with) {
            let expected = (without.code, settled(&without.stdout), without.stderr);
            assert_eq!((with.code, settled(&with.stdout), with.stderr), expected, "{words:?}");
        }
        let asked = daemon.log().matches("for user 0").count();
        assert!(asked >= 20, "the daemon was not asked: {asked}\n{}", daemon.log());
    });
}

/// A command that changes nothing is asked twice, for people and as JSON.
fn both(words: &[&str], run: &dyn Fn(&[&str]) -> Output) -> Vec<Output> {
    let as_json = [words, &["--json"]].concat();
    vec![run(&as_json), run(words)]
}

/// A check of `ccctl doctor` that counts, on some kernels with another result each time.
const COUNTED: &str = "hooks called";
const COUNTED_REMEDY: &str = "try: use another kernel";

/// Without what is never the same twice: ids, times, and sockets of others.
fn settled(text: &str) -> String {
    let Ok(value) = serde_json::from_str::<Value>(text) else {
        let lasting = text.lines().filter(|line| !line.contains(COUNTED) && !line.contains(COUNTED_REMEDY));
        let words = lasting.flat_map(str::split_whitespace);
        let words = words.filter(|word| !word.chars().any(|letter| letter.is_ascii_digit()));
        return words.collect::<Vec<_>>().join(" ");
    };
    let mut value = value;
    blank(&mut value);
    value.to_string()
}

fn blank(value: &mut Value) {
    const CHANGING: &[&str] =
        &["map_id", "map_id_before", "link_id", "id", "loaded_at", "sockets", "jited_bytes", "run_count", "found"];
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                if CHANGING.contains(&name.as_str()) {
                    *field = Value::Null;
                } else {
                    blank(field);
                }
            }
        }
        Value::Array(items) => {
            items.retain(|item| item["name"] != COUNTED);
            items.iter_mut().for_each(blank);
        }
        _ => {}
    }
}

/// A document as its parts: what is in `components` goes with each schema.
fn validator(document: &Value, schema: &Value) -> jsonschema::Validator {
    let mut whole = schema.clone();
    whole["components"] = document["components"].clone();
    jsonschema::draft202012::new(&whole).unwrap_or_else(|error| panic!("{error}: {schema}"))
}

#[track_caller]
fn fits(document: &Value, path: &str, method: &str, status: &str, answer: &Value) {
    let response = &document["paths"][path][method]["responses"][status]["content"]["application/json"]["schema"];
    assert!(response.is_object(), "{method} {path} {status} is not described");
    let errors: Vec<String> =
        validator(document, response).iter_errors(answer).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{method} {path}: {errors:?}\n{answer}");
}

/// Every operation once, in an order in which each can be done.
fn requests(default: &Value, cgroup: &str) -> Vec<(&'static str, Value)> {
    let design = json!({"name": "doc", "b": "apidoc", "cgroup": cgroup, "block": "1m", "pairs": 6, "spread": "10%"});
    vec![
        ("load", json!({"algorithm": "cubic", "name": "apidoc", "set": {"beta": 0.8, "slow_start_exit": "loss"}})),
        ("list", json!({})),
        ("show", json!({"name": "apidoc"})),
        ("tune", json!({"name": "apidoc", "set": {"beta": 0.9}})),
        ("swap", json!({"name": "apidoc", "with": "scalable", "set": {"decrease_shift": 4}})),
        ("default", json!({"name": "apidoc"})),
        ("default", json!({"name": default})),
        ("migrate", json!({"filter": {"instance": "apidoc"}, "to": "reno", "dry_run": true})),
        ("sockets", json!({"limit": 3, "without_owners": true})),
        ("assign", json!({"cgroup": "/apidoc", "dst": "10.0.0.0/8", "targets": "apidoc=1,reno=2", "absent_ok": true})),
        ("rules", json!({})),
        ("unassign", json!({"cgroup": "/apidoc", "dst": "10.0.0.0/8"})),
        ("why", json!({"pid": std::process::id()})),
        ("apply", json!({"file": "x", "text": "[instance.apidoc]\nalgorithm = \"reno\"", "dry_run": true})),
        ("experiment-plan", json!({"design": design})),
        ("experiment-start", json!({"name": "doc"})),
        ("experiment-status", json!({"blocks": true})),
        ("experiment-stop", json!({"name": "doc"})),
        ("unload", json!({"names": ["apidoc"]})),
        ("status", json!({})),
        ("guard", json!({})),
    ]
}

#[test]
fn the_document_is_valid_and_every_answer_is_as_it_says() {
    support::test("document", 120, || {
        let (daemon, cgroup) = (Daemon::start("document", ""), Cgroup::new("document").unwrap());
        let document = daemon.get("openapi.json").ok();
        let rules: Value = serde_json::from_str(include_str!("../../fixtures/openapi-3.1.schema.json")).unwrap();
        let errors: Vec<_> =
            jsonschema::draft202012::new(&rules).unwrap().iter_errors(&document).map(|e| e.to_string()).collect();
        assert!(errors.is_empty(), "{errors:?}");
        let mut described: Vec<String> = document["paths"].as_object().unwrap().keys().cloned().collect();
        described.retain(|path| path != "/v1/openapi.json");

        for path in [
            "daemon",
            "algorithms",
            "show?name=cubic",
            "check?algorithm=reno",
            "list",
            "default",
            "doctor",
            "status",
            "guard",
            "experiment-status",
            "rules",
            "sockets?limit=3&filter[tcp_state]=listen&sort=cwnd",
        ] {
            let answer = daemon.get(path).ok();
            let path = format!("/v1/{}", path.split('?').next().unwrap());
            fits(&document, &path, "get", "200", &answer);
            described.retain(|known| *known != path);
        }
        let stream = &document["paths"]["/v1/events"]["get"]["responses"]["200"]["content"]["application/x-ndjson"];
        let events = daemon.get("events").body;
        for line in events.lines() {
            assert!(validator(&document, &stream["schema"]).is_valid(&line.parse().unwrap()), "{line}");
        }
        assert!(events.lines().count() > 0, "the daemon was started");
        described.retain(|known| known != "/v1/events");
        let _socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap(); // for why
        let default = daemon.get("default").ok()["congestion_control"].clone();
        for (name, request) in requests(&default, cgroup.path()) {
            let path = format!("/v1/{name}");
            let body = &document["paths"][&path]["post"]["requestBody"]["content"]["application/json"]["schema"];
            assert!(validator(&document, body).is_valid(&request), "{name}: {request}");
            fits(&document, &path, "post", "200", &daemon.post(name, &request).ok());
            let wrong = daemon.curl(&["--data", "{\"nothing\": 1}"], &path);
            wrong.refusal(422);
            fits(&document, &path, "post", "default", &wrong.json());
            described.retain(|known| *known != path);
        }
        let down = daemon.post("down", &json!({}));
        fits(&document, "/v1/down", "post", "200", &down.ok());
        described.retain(|known| known != "/v1/down");
        assert!(described.is_empty(), "not asked for: {described:?}");
    });
}

#[test]
fn a_request_speaks_of_the_network_namespace_of_who_asks() {
    support::test("namespace", 60, || {
        let daemon = Daemon::start("namespace", "");
        let network = Network::new().unwrap();
        network.client.set_sysctl("net/ipv4/tcp_congestion_control", "reno").unwrap();
        let other = network.server.sysctl("net/ipv4/tcp_congestion_control").unwrap();
        assert_ne!(other, "reno", "the test tells them apart by their defaults");
        for (namespace, default) in [(&network.client, "reno"), (&network.server, &other)] {
            let mut command = Command::new(CCCTL);
            command.args(["default", "--json"]).env("CCCTL_SOCKET", daemon.socket());
            let output = namespace.run(&mut command, Duration::from_secs(20)).unwrap();
            let answer: Value = serde_json::from_str(&output.stdout).unwrap();
            assert_eq!(answer["congestion_control"], default);
        }
        daemon.ccctl(&["load", "reno", "--as", "apispace"]);
        let mut command = Command::new(CCCTL);
        command.args(["default", "apispace"]).env("CCCTL_SOCKET", daemon.socket());
        assert!(network.client.run(&mut command, Duration::from_secs(20)).unwrap().success());
        assert_eq!(network.client.sysctl("net/ipv4/tcp_congestion_control").unwrap(), "apispace");
        assert_ne!(daemon.get("default").ok()["congestion_control"], "apispace");
        daemon.ccctl(&["unload", "apispace"]);
        assert_eq!(network.client.sysctl("net/ipv4/tcp_congestion_control").unwrap(), "reno");
        assert!(daemon.log().contains("default for user 0"), "{}", daemon.log());
    });
}

#[test]
fn wrong_requests_say_what_is_right() {
    support::test("wrong requests", 60, || {
        let daemon = Daemon::start("wrong", "");
        let before = HostState::read().unwrap();
        assert!(daemon.get("lsit").refusal(404).contains("/v1/list"));
        assert!(daemon.curl(&[], "/list").refusal(404).contains("openapi.json"));
        assert!(daemon.get("load?algorithm=cubic").refusal(405).contains("POST"));
        assert!(daemon.get("default?name=reno").refusal(405).contains("POST"));
        assert!(daemon.curl(&["--request", "DELETE"], "/v1/list").refusal(405).contains("GET, POST"));
        assert!(daemon.get("show?nmae=cubic").refusal(422).contains("`nmae`"));
        assert!(daemon.get("show?name=cubci").refusal(404).contains("did you mean cubic"));
        assert!(daemon.get("show?name=a&name=b").refusal(400).contains("twice"));
        for (body, status) in
            [("", 422), ("{", 400), ("[]", 422), ("null", 422), ("\"x\"", 422), ("{\"name\": 1}", 422)]
        {
            daemon.curl(&["--data", body], "/v1/show").refusal(status);
        }
        assert!(daemon
            .curl(&["--data", "{\"names\": [], \"all\": false}"], "/v1/unload")
            .refusal(422)
            .contains("--all"));
        ccctl_testbed::assert_same(&before);
    });
}

#[test]
fn a_daemon_of_another_version_is_named_and_not_asked() {
    support::test("other version", 60, || {
        let folder = Folder::new("version");
        let path = folder.path().join("socket");
        let listener = UnixListener::bind(&path).unwrap();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (mut stream, body) = (stream, "{\"version\": \"9.9.9\", \"pid\": 1}");
                let mut request = [0; 4096];
                let _ = stream.read(&mut request);
                let _ = write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len());
            }
        });
        let list = |socket: &std::path::Path| {
            run(Command::new(CCCTL).args(["default"]).env("CCCTL_SOCKET", socket), Duration::from_secs(20)).unwrap()
        };
        let output = list(&path);
        assert!(output.success() && output.stderr.contains("ccctl 9.9.9"), "{}", output.stderr);
        // one that hangs
        let hanging = folder.path().join("hanging");
        let _listener = UnixListener::bind(&hanging).unwrap();
        let output = list(&hanging);
        assert!(output.success() && output.stderr.contains("is not responding"), "{}", output.stderr);
        // what a killed one has left
        drop(UnixListener::bind(folder.path().join("stale")).unwrap());
        let output = list(&folder.path().join("stale"));
        assert!(output.success() && output.stderr.is_empty(), "{}", output.stderr);
    });
}
