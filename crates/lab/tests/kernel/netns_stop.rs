// SPDX-License-Identifier: GPL-2.0-only
//! `ccctl lab run --backend netns` that is stopped: by Ctrl-C it leaves nothing; what `kill -9` leaves, the next run takes away,
//! and nothing else. The session's priority is as before by itself.

use crate::support;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::scratch::{Scratch, DUMBBELL};
use ccctl_loader::Instance;
use ccctl_testbed::{claim, eventually, skip, Namespace, Turn};
use nix::sys::signal::{kill, Signal};
use nix::unistd::Pid;
use serde_json::Value;
use support::{load, names, unload};

const LONG_ENOUGH: Duration = Duration::from_secs(20);
/// Two groups, each with an instance.
const INSTANCES: usize = 2;
/// Two senders and the receiver.
const NAMESPACES: usize = 3;

/// A run of a minute, in its middle; killed when a test fails.
struct Running {
    child: Option<Child>,
    pid: u32,
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill().and_then(|()| child.wait()); // it may have ended by itself
        }
    }
}

impl Running {
    fn start(scratch: &Scratch, out: &str) -> Self {
        Self::of(&mut long_run(scratch, out))
    }

    fn of(command: &mut Command) -> Self {
        let child = command.envs([Turn::lend()]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let running = Self { pid: child.id(), child: Some(child) };
        (0..INSTANCES).for_each(|number| claim(&format!("lab_{}_{number}", running.pid)));
        eventually(LONG_ENOUGH, || match running.instances().len() {
            INSTANCES if Namespace::of_process(running.pid).len() == NAMESPACES => Ok(()),
            found => Err(format!("{found} instances")),
        })
        .unwrap();
        std::thread::sleep(Duration::from_secs(1)); // now flows are under way
        running
    }

    fn instances(&self) -> Vec<String> {
        names().into_iter().filter(|name| name.starts_with(&format!("lab_{}_", self.pid))).collect()
    }

    fn end(mut self, signal: Signal) -> (Option<i32>, String) {
        kill(Pid::from_raw(self.pid as i32), signal).unwrap();
        let output = self.child.take().unwrap().wait_with_output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    }
}

fn scratch(name: &str) -> Scratch {
    let scratch = Scratch::new(name);
    std::fs::write(scratch.path("long.toml"), DUMBBELL.replace("\"3 s\"", "\"60 s\"")).unwrap();
    std::fs::write(scratch.path("short.toml"), DUMBBELL.replace("\"3 s\"", "\"2 s\"")).unwrap();
    scratch
}

fn long_run(scratch: &Scratch, out: &str) -> Command {
    scratch.command(&["run", "./long.toml", "--backend", "netns", "--out", out])
}

/// A process that stays in the session of a run when the run is killed.
struct Keeper(Pid);

impl Drop for Keeper {
    fn drop(&mut self) {
        let _ = kill(self.0, Signal::SIGKILL); // its time may be over
    }
}

impl Keeper {
    const SHELL: &str = "sleep 120 < /dev/null > /dev/null 2>&1 & echo $! > keeper; exec \"$@\"";

    /// A run in a session of its own: the kernel may have no nice value for the session that this test is in.
    fn beside_a_run(scratch: &Scratch) -> (Self, Running) {
        let run = long_run(scratch, "session");
        let mut command = Command::new("setsid");
        command.args(["sh", "-c", Self::SHELL, "sh"]).arg(run.get_program()).args(run.get_args());
        let running = Running::of(command.current_dir(scratch.path("")));
        let keeper = std::fs::read_to_string(scratch.path("keeper")).unwrap();
        (Self(Pid::from_raw(keeper.trim().parse().unwrap())), running)
    }

    /// The nice value of the session, which a run raises (proc(5): `/autogroup-25 nice 0`); none where the kernel has no such
    /// groups, or has them turned off.
    fn nice(&self) -> Option<i32> {
        let text = std::fs::read_to_string(format!("/proc/{}/autogroup", self.0)).ok()?;
        text.split_once(" nice ").map(|(_, nice)| nice.trim().parse().unwrap())
    }
}

/// A run of two seconds, whatever else the machine does.
fn short_run(scratch: &Scratch, out: &str) {
    let arguments = ["run", "./short.toml", "--backend", "netns", "--late", "5s", "--series", "none", "--out", out];
    let output = scratch.command(&arguments).envs([Turn::lend()]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn ctrl_c_leaves_nothing() {
    support::test("Ctrl-C", 60, || {
        let scratch = scratch("ctrl-c");
        let running = Running::start(&scratch, "stopped");
        let pid = running.pid;
        let (code, text) = running.end(Signal::SIGINT);
        assert_eq!(code, Some(6), "{text}");
        assert!(text.contains("stopped: repeat the command to continue in stopped/long-netns"), "{text}");
        assert!(names().is_empty() && Namespace::of_process(pid).is_empty());
    });
}

#[test]
fn what_a_kill_leaves_goes_with_clean_too() {
    support::test("kill -9, and clean", 60, || {
        let scratch = scratch("clean");
        let alive = Running::start(&scratch, "alive");
        let killed = Running::start(&scratch, "killed");
        let (pid, left) = (killed.pid, killed.instances());
        assert_eq!(killed.end(Signal::SIGKILL).0, None);
        let removed: Value = serde_json::from_str(&scratch.done(&["clean", "--json"])).unwrap();
        assert_eq!(removed["removed_instances"], serde_json::json!(left));
        assert_eq!(removed["removed_namespaces"].as_array().unwrap().len(), NAMESPACES);
        assert!(Namespace::of_process(pid).is_empty());
        assert_eq!(names(), alive.instances());
        let running = format!("kept: {NAMESPACES} namespaces of process {}, which is still running\n", alive.pid);
        assert_eq!(scratch.done(&["clean"]), format!("there is nothing to clean up\n{running}"));
        assert_eq!(alive.end(Signal::SIGINT).0, Some(6));
    });
}

#[test]
fn what_a_kill_leaves_goes_with_the_next_run_and_nothing_else_does() {
    support::test("kill -9", 90, || {
        let scratch = scratch("kill");
        // Names of a user's, one like those of the lab: process 1 is always there, and so is no other with its number.
        let of_user = ["lab_1_0", "lab_4194304_0", "mine"];
        for name in of_user {
            load("reno", name, None);
        }
        let killed = Running::start(&scratch, "killed");
        let (pid, left) = (killed.pid, killed.instances());
        assert_eq!(killed.end(Signal::SIGKILL).0, None);
        assert_eq!((left.len(), Namespace::of_process(pid).len()), (INSTANCES, NAMESPACES));
        let profile = Instance::named(&left[0]).unwrap().identity.profile;
        assert!(profile.starts_with(&format!("lab run of {pid}/")), "{profile}");

        let alive = Running::start(&scratch, "alive");
        short_run(&scratch, "next");
        assert!(Namespace::of_process(pid).is_empty());
        let mut expected: Vec<String> = of_user.iter().map(|name| (*name).to_owned()).collect();
        expected.extend(alive.instances());
        expected.sort();
        assert_eq!((alive.instances().len(), Namespace::of_process(alive.pid).len()), (INSTANCES, NAMESPACES));
        assert_eq!(names(), expected);
        assert_eq!(alive.end(Signal::SIGINT).0, Some(6));
        for name in of_user {
            unload(name);
        }
    });
}

#[test]
fn a_session_is_lowered_again_when_its_run_is_killed() {
    support::test("the session of a kill -9", 60, || {
        let scratch = scratch("session");
        let (keeper, killed) = Keeper::beside_a_run(&scratch);
        let raised = keeper.nice();
        assert_eq!(killed.end(Signal::SIGKILL).0, None);
        match raised {
            Some(raised) => {
                assert_eq!(raised, -20);
                let is_normal = || if keeper.nice() == Some(0) { Ok(()) } else { Err(format!("{:?}", keeper.nice())) };
                eventually(LONG_ENOUGH, is_normal).unwrap();
            }
            None => {
                skip("netns_stop::a_session_is_lowered_again_when_its_run_is_killed", "this kernel groups no sessions");
            }
        }
        scratch.done(&["clean"]);
    });
}
