// SPDX-License-Identifier: MIT OR Apache-2.0
//! The port beyond the loopback: TLS, a token, certificates of clients; the health check; and the file for `node_exporter`.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use ccctl_testbed::{eventually, run, run_ok, Output};

use crate::support;
use crate::support::metrics::{free_port, LIMIT};
use support::daemon::Daemon;
use support::prometheus::Prometheus;
use support::{code, refuses, Folder, CCCTL};

const TOKEN: &str = "f2b1c0ffee0123456789";

/// An authority, and a certificate of it for the server and one for a client; another client has one of its own making.
struct Certificates(Folder);

impl Certificates {
    fn new(label: &str) -> Self {
        let folder = Folder::new(label);
        let script = "
            umask 077
            make() { openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -keyout $1.key -out $1.crt -subj /CN=$1 \"${@:2}\"; }
            make authority -addext basicConstraints=critical,CA:TRUE
            make server -CA authority.crt -CAkey authority.key -addext basicConstraints=CA:FALSE \
                -addext subjectAltName=IP:127.0.0.1,DNS:metrics.test
            make client -CA authority.crt -CAkey authority.key -addext basicConstraints=CA:FALSE -addext extendedKeyUsage=clientAuth
            make stranger
        ";
        run_ok(Command::new("bash").args(["-ec", script]).current_dir(folder.path()), LIMIT).unwrap();
        folder.file("token", TOKEN);
        Self(folder)
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    /// Lines of `[metrics]` for TLS.
    fn lines(&self) -> String {
        format!("tls_certificate = {:?}\ntls_key = {:?}\n", self.path("server.crt"), self.path("server.key"))
    }

    /// A Prometheus that proves with these keys of its scrape job who it is.
    fn prometheus(&self, port: u16, tls: &str, keys: &str) -> Prometheus {
        let tls = format!("tls_config: {{ca_file: {}{tls}}}", self.path("authority.crt"));
        Prometheus::start(port, &format!("scheme: https, {tls}, {keys}"))
    }

    fn curl(&self, port: u16, path: &str, words: &[&str]) -> Output {
        let mut command = Command::new("curl");
        command.args(["--silent", "--show-error", "--max-time", "20", "--cacert", &self.path("authority.crt")]);
        command.args(["--write-out", "\n%{http_code}"]).args(words);
        run(command.arg(format!("https://127.0.0.1:{port}{path}")), LIMIT).unwrap()
    }

    fn status(&self, port: u16, path: &str, words: &[&str]) -> String {
        let said = self.curl(port, path, words);
        assert!(said.success(), "{path} {words:?}: {}", said.stderr);
        said.stdout.lines().last().unwrap().to_owned()
    }
}

fn listens(certificates: &Certificates, port: u16) {
    let connects = || std::net::TcpStream::connect(("127.0.0.1", port)).map(drop).map_err(|error| error.to_string());
    eventually(LIMIT, connects).unwrap_or_else(|error| panic!("{error}: {}", certificates.0.path().display()));
}

#[test]
fn beyond_the_loopback_a_token_opens_over_tls() {
    support::test("metrics: TLS and token", 120, || {
        let (certificates, port) = (Certificates::new("certificates"), free_port());
        let token = format!("token_file = {:?}\n", certificates.path("token"));
        let listen = format!("[metrics]\nenabled = true\nlisten = \"0.0.0.0:{port}\"\n");
        let daemon = Daemon::start("metrics-tls", &format!("{listen}{}{token}", certificates.lines()));
        listens(&certificates, port);
        assert!(daemon.log().contains(&format!("metrics: https://0.0.0.0:{port}/metrics")), "{}", daemon.log());
        let bearer = format!("Authorization: Bearer {TOKEN}");
        assert_eq!(certificates.status(port, "/metrics", &["--header", &bearer]), "200");
        assert_eq!(certificates.status(port, "/healthz", &["--header", &bearer]), "200");
        for words in [&[][..], &["--header", "Authorization: Bearer wrong"], &["--user", &format!("x:{TOKEN}")]] {
            for path in ["/metrics", "/healthz", "/"] {
                assert_eq!(certificates.status(port, path, words), "401", "{path} {words:?}");
            }
        }
        let name = ["--header", &bearer, "--header", "Host: metrics.test"];
        assert_eq!(
            certificates.status(port, "/metrics", &name),
            "200",
            "clients that are known may use any name of this host"
        );
        let plain =
            run(Command::new("curl").args(["--silent", &format!("http://127.0.0.1:{port}/metrics")]), LIMIT).unwrap();
        assert!(!plain.success() && plain.stdout.is_empty(), "nothing is told in the clear: {}", plain.stdout);
        // a certificate that was renewed counts after a reload
        let renewed = Certificates::new("renewed");
        for file in ["server.crt", "server.key"] {
            std::fs::copy(renewed.path(file), certificates.path(file)).unwrap();
        }
        daemon.reload(&format!("{listen}{}{token}# renewed\n", certificates.lines()));
        let serves_it = || match renewed.curl(port, "/metrics", &["--header", &bearer]) {
            said if said.success() => Ok(()),
            said => Err(said.stderr),
        };
        eventually(LIMIT, serves_it).unwrap();
    });
}

#[test]
fn clients_with_a_certificate_of_the_authority_may_read() {
    support::test("metrics: client certificates", 120, || {
        let (certificates, port) = (Certificates::new("certificates"), free_port());
        let authority = format!("tls_client_ca = {:?}\n", certificates.path("authority.crt"));
        let config =
            format!("[metrics]\nenabled = true\nlisten = \"127.0.0.1:{port}\"\n{}{authority}", certificates.lines());
        let _daemon = Daemon::start("metrics-mtls", &config);
        listens(&certificates, port);
        let as_client = |name: &str| {
            let (certificate, key) =
                (certificates.path(&format!("{name}.crt")), certificates.path(&format!("{name}.key")));
            certificates.curl(port, "/metrics", &["--cert", &certificate, "--key", &key])
        };
        let said = as_client("client");
        assert!(said.success() && said.stdout.contains("ccctl_build_info"), "{}{}", said.stdout, said.stderr);
        for said in [as_client("stranger"), certificates.curl(port, "/metrics", &[])] {
            assert!(!said.success() && !said.stdout.contains("ccctl_"), "{}", said.stdout);
        }
    });
}

/// As docs/guide/metrics.md has the scrape job.
#[test]
fn prometheus_scrapes_with_a_token_over_tls() {
    support::test("metrics: Prometheus, TLS and token", 120, || {
        let (certificates, port) = (Certificates::new("certificates"), free_port());
        let token = format!("token_file = {:?}\n", certificates.path("token"));
        let listen = format!("[metrics]\nenabled = true\nlisten = \"0.0.0.0:{port}\"\n");
        let _daemon = Daemon::start("metrics-token", &format!("{listen}{}{token}", certificates.lines()));
        let keys = format!("authorization: {{credentials_file: {}}},", certificates.path("token"));
        let prometheus = certificates.prometheus(port, "", &keys);
        prometheus.finds("up{job=\"ccctl\"} == 1");
        prometheus.finds("ccctl_build_info{job=\"ccctl\"} == 1");
        let stranger = certificates.prometheus(port, "", "");
        stranger.finds("up{job=\"ccctl\"} == 0");
        assert_eq!(stranger.query("ccctl_build_info"), Ok(vec![]), "without the token");
    });
}

#[test]
fn prometheus_scrapes_with_a_client_certificate() {
    support::test("metrics: Prometheus, client certificate", 120, || {
        let (certificates, port) = (Certificates::new("certificates"), free_port());
        let authority = format!("tls_client_ca = {:?}\n", certificates.path("authority.crt"));
        let listen = format!("[metrics]\nenabled = true\nlisten = \"127.0.0.1:{port}\"\n");
        let _daemon = Daemon::start("metrics-client", &format!("{listen}{}{authority}", certificates.lines()));
        let own = |name: &str| {
            let path = |end: &str| certificates.path(&format!("{name}.{end}"));
            format!(", cert_file: {}, key_file: {}", path("crt"), path("key"))
        };
        let prometheus = certificates.prometheus(port, &own("client"), "");
        prometheus.finds("up{job=\"ccctl\"} == 1");
        prometheus.finds("ccctl_build_info{job=\"ccctl\"} == 1");
        let stranger = certificates.prometheus(port, &own("stranger"), "");
        stranger.finds("up{job=\"ccctl\"} == 0");
        assert_eq!(stranger.query("ccctl_build_info"), Ok(vec![]), "with another authority's certificate");
    });
}

#[test]
fn what_would_tell_the_network_is_refused() {
    support::test("metrics: wrong TLS", 60, || {
        let (certificates, folder) = (Certificates::new("certificates"), Folder::new("wrong-tls"));
        let tls = certificates.lines();
        let writable = folder.file("writable", TOKEN);
        run_ok(Command::new("chmod").args(["666", &writable]), LIMIT).unwrap();
        let short = folder.file("short", "secret");
        let open = "listen = \"0.0.0.0:9877\"\n";
        for (lines, parts) in [
            (open.to_owned(), &["ccctl.toml:2", "not a loopback address", "token_file"][..]),
            (format!("{open}{tls}"), &["a token or client certificates", "tls_client_ca"]),
            (format!("{open}token_file = {:?}\n", certificates.path("token")), &["needs TLS"]),
            (format!("{open}{tls}token_file = {writable:?}\n"), &["ccctl.toml:5", "token_file"]),
            (format!("{open}{tls}token_file = {short:?}\n"), &["ccctl.toml:5", "16 characters", "openssl rand"]),
            (format!("{open}tls_certificate = {:?}\n", certificates.path("server.crt")), &["without tls_key"]),
        ] {
            let file = folder.file("ccctl.toml", format!("[metrics]\n{lines}"));
            refuses(&["apply", "--dry-run", &file], code::USAGE, parts);
        }
    });
}

#[test]
fn the_textfile_is_whole_and_goes_with_the_daemon() {
    support::test("metrics: textfile", 120, || {
        let folder = Folder::new("textfile");
        let target = folder.path().join("ccctl.prom");
        let precious = folder.file("precious", "stays");
        // links that another user could have laid there
        for name in ["ccctl.prom", "ccctl.prom.part"] {
            std::os::unix::fs::symlink(&precious, folder.path().join(name)).unwrap();
        }
        let config = format!("[metrics]\nenabled = true\ntextfile = {:?}\n", target.to_str().unwrap());
        // the unit that comes with ccctl has this umask
        let umasked = folder.file("ccctl", format!("#!/bin/sh\numask 077\nexec {CCCTL} \"$@\"\n"));
        run_ok(Command::new("chmod").args(["755", &umasked]), LIMIT).unwrap();
        let mut daemon = Daemon::start_with(Folder::new("textfile-daemon"), Path::new(&umasked), &config);
        let is_file = |path: &Path| path.symlink_metadata().is_ok_and(|found| found.is_file());
        eventually(LIMIT, || is_file(&target).then_some(()).ok_or("not yet".to_owned())).unwrap();
        let text = std::fs::read_to_string(&target).unwrap();
        assert!(text.contains("\nccctl_build_info{"), "{text}");
        assert_eq!(target.metadata().unwrap().permissions().mode() & 0o777, 0o644, "another user's program reads it");
        let mut promtool = Command::new("sh");
        promtool.args(["-c", "promtool check metrics < \"$0\"", target.to_str().unwrap()]);
        run_ok(&mut promtool, LIMIT).unwrap();
        assert_eq!(std::fs::read_to_string(&precious).unwrap(), "stays");
        assert_eq!(daemon.terminate(), Some(0));
        assert!(target.symlink_metadata().is_err(), "numbers of a daemon that is gone would stay for ever");
    });
}

#[test]
fn health_is_that_of_the_host() {
    support::test("metrics: /healthz", 120, || {
        let port = free_port();
        let listen = format!("[metrics]\nenabled = true\nlisten = \"127.0.0.1:{port}\"\n");
        let daemon = Daemon::start("healthz", &listen);
        let health = || {
            let mut curl = Command::new("curl");
            curl.args(["--silent", "--max-time", "20", "--write-out", " %{http_code}"]);
            run(curl.arg(format!("http://127.0.0.1:{port}/healthz")), LIMIT).unwrap().stdout
        };
        let becomes = |wanted: &str| {
            let is_so = || Some(health()).filter(|said| said == wanted).ok_or_else(health).map(drop);
            eventually(LIMIT, is_so).unwrap();
        };
        becomes("ok\n 200");
        // the file names what does not exist: the one in force stays, and the daemon says so
        daemon.configure(&format!("{listen}[instance.x]\nalgorithm = \"nothing_like_it\"\n"));
        daemon.signal("HUP");
        becomes("the host differs from the file: ccctl status\n 503");
        let status = daemon.ccctl(&["status"]);
        assert_eq!(status.code, Some(code::PARTLY), "{}", status.stdout);
        daemon.reload(&listen);
        becomes("ok\n 200");
        assert_eq!(daemon.ccctl(&["status"]).code, Some(0));
    });
}
