// SPDX-License-Identifier: MIT OR Apache-2.0
//! How `ccctl top` ends: by signals, by a panic, by a terminal that goes or stands still. The terminal is given back where
//! there still is one, and no process is left.

use crate::support;
use crate::support::top;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use ccctl_testbed::{eventually, run_ok};
use nix::fcntl::OFlag;
use top::{Screen, Traced, PATIENCE};

const UNICODE: &str = "LC_ALL=C.UTF-8";
const ENTERED: &str = "\u{1b}[?1049h";
const LEFT: &str = "\u{1b}[?1049l";

fn send(signal: &str, pid: &str) {
    run_ok(Command::new("kill").args(["-s", signal, pid]), PATIENCE).unwrap();
}

/// A terminal of script(1): what is typed comes from a pipe, and what is shown goes to a file.
struct Scripted {
    script: Child,
    traced: Traced,
}

impl Scripted {
    /// Waits for the first screen. `before`: what stands before the command.
    fn open(before: &str) -> Self {
        let traced = Traced::new(&format!("{UNICODE} TERM=xterm-256color"), "");
        let command = match before {
            "" => traced.command(),
            _ => format!("{before} {}", traced.inner_command()),
        };
        let script = Command::new("script")
            .args(["-q", "-c", &format!("stty rows 24 cols 80; {command}"), "/dev/null"])
            .stdin(Stdio::piped())
            .stdout(File::create(traced.file("shown")).unwrap())
            .spawn()
            .unwrap();
        let scripted = Self { script, traced };
        let is_shown = || {
            let shown = scripted.traced.written("shown");
            if shown.contains(ENTERED) && shown.contains("ccctl") {
                Ok(())
            } else {
                Err(format!("{shown}{}", scripted.traced.written("stderr")))
            }
        };
        eventually(PATIENCE, is_shown).unwrap();
        scripted
    }

    fn press(&mut self, keys: &str) {
        self.script.stdin.as_mut().unwrap().write_all(keys.as_bytes()).unwrap();
    }

    /// Half of an arrow key holds up who reads it.
    fn press_half_a_key(&mut self) {
        self.press("\u{1b}[");
        eventually(PATIENCE, || self.is_in_call(&["0 0x0 ", "63 0x0 "])).unwrap();
    }

    /// Is the main thread in one of these system calls? By number and first argument; on x86, and on others.
    fn is_in_call(&self, calls: &[&str]) -> Result<(), String> {
        let call = std::fs::read_to_string(format!("/proc/{}/syscall", self.traced.pid()))
            .map_err(|error| error.to_string())?;
        if calls.iter().any(|begin| call.starts_with(begin)) {
            Ok(())
        } else {
            Err(format!("is in {call}"))
        }
    }

    fn pid(&self) -> String {
        self.script.id().to_string()
    }

    /// The terminal is closed without a word.
    fn close(mut self) {
        self.script.kill().unwrap();
        self.script.wait().unwrap();
        self.traced.wait_until_gone();
    }

    fn expect_given_back(&self) {
        assert_eq!(self.traced.ended(), "0");
        assert_eq!(self.traced.written("before"), self.traced.written("after"));
        let is_left = || {
            let shown = self.traced.written("shown");
            if shown.rfind(LEFT) > shown.rfind(ENTERED) {
                Ok(())
            } else {
                Err(shown)
            }
        };
        eventually(PATIENCE, is_left).unwrap();
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        let _ = self.script.kill(); // it has ended, as a rule
        let _ = self.script.wait();
    }
}

#[test]
fn signals_give_the_terminal_back() {
    support::test("signals", 300, || {
        for end in ["TERM", "HUP", "INT"] {
            let screen = Screen::open(80, 24, "");
            assert!(screen.is_alternate() && screen.written("after").is_empty());
            send(end, &screen.pid());
            assert_eq!(screen.ended(), "0", "{end}");
            assert_eq!(screen.written("before"), screen.written("after"), "{end}");
            assert!(!screen.is_alternate(), "{end}");
            assert_eq!(screen.written("stderr"), "", "{end}");
        }
        let screen = Screen::open(80, 24, "");
        screen.press(&["q"]);
        assert_eq!((screen.ended().as_str(), screen.is_alternate()), ("0", false));
        assert_eq!(screen.written("before"), screen.written("after"));
    });
}

/// With a session that dies of it and hands the signal on, without one, and without a controlling terminal: there nothing
/// but the terminal itself tells.
#[test]
fn nothing_is_left_when_the_terminal_goes() {
    support::test("gone", 600, || {
        let screen = Screen::open(80, 24, "");
        screen.kill_server();
        screen.wait_until_gone();
        drop(screen);
        let screen = Screen::open(80, 24, "--every 100ms");
        send("KILL", &screen.server_pid());
        screen.wait_until_gone();
        drop(screen);
        for before in ["", "exec", "exec setsid -w", "trap '' HUP;"] {
            Scripted::open(before).close();
        }
        let mut scripted = Scripted::open("exec setsid -w");
        scripted.press_half_a_key();
        scripted.close();
    });
}

#[test]
fn a_half_key_and_a_terminal_that_stands_still_hold_nobody() {
    support::test("held", 300, || {
        let mut scripted = Scripted::open("");
        scripted.press_half_a_key();
        send("TERM", &scripted.traced.pid());
        scripted.expect_given_back();
        drop(scripted);

        let scripted = Scripted::open("");
        let pid = scripted.traced.pid();
        send("STOP", &scripted.pid());
        let terminal = std::fs::read_link(format!("/proc/{pid}/fd/0")).unwrap();
        let mut rows = ["40", "24"].iter().cycle();
        // the kernel makes some room again a moment after it had none
        let is_held_up = || {
            fill(&terminal);
            let size = ["rows", rows.next().unwrap()];
            run_ok(Command::new("stty").arg("-F").arg(&terminal).args(size), PATIENCE)
                .map_err(|error| error.to_string())?;
            scripted.is_in_call(&["1 0x1 ", "64 0x1 "])
        };
        eventually(PATIENCE, is_held_up).unwrap();
        run_ok(Command::new("stty").arg("-F").arg(&terminal).args(["rows", "24"]), PATIENCE).unwrap();
        send("TERM", &pid);
        scripted.traced.wait_until_gone();
        send("CONT", &scripted.pid());
        scripted.expect_given_back();
    });
}

/// Until it takes no more.
fn fill(terminal: &Path) {
    let flags = (OFlag::O_NONBLOCK | OFlag::O_NOCTTY).bits();
    let mut terminal = OpenOptions::new().write(true).custom_flags(flags).open(terminal).unwrap();
    loop {
        match terminal.write(&[b' '; 1000]) {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => return,
            Err(error) => panic!("{error}"),
        }
    }
}

/// The switch is not in a program that is built without assertions.
#[cfg(debug_assertions)]
#[test]
fn a_panic_gives_the_terminal_back_before_its_message() {
    support::test("panic", 300, || {
        for (place, code) in [("drawing", "101"), ("looking", "1")] {
            let screen = Screen::start(80, 24, &format!("{UNICODE} CCCTL_TOP_PANIC={place}"), "--every 100ms");
            assert_eq!(screen.ended(), code, "{place}");
            assert_eq!(screen.written("before"), screen.written("after"), "{place}");
            assert!(!screen.is_alternate(), "{place}");
            let said = screen.written("stderr");
            assert!(said.contains("panicked") && said.contains(&format!("while {place}, as asked")), "{said}");
        }
    });
}
