// SPDX-License-Identifier: MIT OR Apache-2.0
//! The keys of `ccctl top`: order, filter, moving sockets with and without a yes; sizes, and an instance that goes.

use crate::support;
use crate::support::top;
use std::time::Duration;

use ccctl_testbed::{eventually, Connections, Network, SERVER_V4};
use support::listing::ss;
use support::{established, succeeds};
use top::{Screen, PATIENCE};

const FROM: &str = "bpf_cubic";
const TO: &str = "bpf_htcp";

/// Local ends as the screen lists them.
fn locals(text: &str) -> Vec<String> {
    let first = text.lines().filter_map(|line| line.trim_start_matches([' ', '*']).split_whitespace().next());
    first.filter(|word| word.starts_with("10.77.0.1:")).map(str::to_owned).collect()
}

/// Shows this name alone, and goes into it.
pub fn go_into(screen: &Screen, name: &str) {
    screen.enter("/");
    screen.enter(name);
    screen.wait("only the name", |text| {
        Screen::row(text, name).is_some()
            && [FROM, TO].iter().all(|other| *other == name || Screen::row(text, other).is_none())
    });
    screen.press(&["Enter", "Enter"]);
    screen.wait("the sockets", |text| text.contains(&format!("ccctl top > {name}")));
}

/// Chooses an answer from the list that is on the screen, by as many steps as it is far.
pub fn choose(screen: &Screen, target: &str) {
    let place = screen.wait_for("the list of targets", |text| {
        let inside = text.lines().filter_map(|line| line.split('│').nth(1)).map(str::trim);
        let mut names = inside.skip_while(|line| !line.ends_with(':')).skip(1);
        names.position(|line| line.split_whitespace().next() == Some(target)).ok_or("not offered".to_owned())
    });
    screen.press(&vec!["Down"; place]);
    screen.press(&["Enter"]);
}

fn moved(network: &Network, from: usize, to: usize) -> Result<(), String> {
    let now = (established(&network.client, FROM), established(&network.client, TO));
    if now == (from, to) {
        Ok(())
    } else {
        Err(format!("{now:?}"))
    }
}

#[test]
fn sockets_are_sorted_hidden_and_moved() {
    support::test("keys", 300, || {
        succeeds(&["load", "cubic"]);
        succeeds(&["load", "htcp"]);
        let network = Network::new().unwrap();
        let held = Connections::open(&network, SERVER_V4, Some(FROM), 5).unwrap();
        let screen = Screen::open(100, 30, "--every 500ms");
        go_into(&screen, FROM);
        screen.wait("five sockets", |text| text.contains("5 in all"));
        let mut sorted: Vec<String> = ss(&network.client).into_values().map(|line| line.local).collect();
        sorted.sort();
        while !screen.text().contains("SOURCE^") {
            screen.press(&["s"]);
            screen.wait("another column", |text| text.contains('^') || text.contains("v ") || text.contains("v\n"));
        }
        assert_eq!(locals(&screen.text()), sorted);
        screen.press(&["T", "O"]);
        screen.wait("by letter", |text| text.contains("SOURCE^") && locals(text) == sorted);
        screen.press(&["S"]);
        sorted.reverse();
        screen.wait("the other direction", |text| text.contains("SOURCEv") && locals(text) == sorted);

        screen.enter("/");
        screen.enter(&sorted[2]);
        screen
            .wait("one socket", |text| locals(text) == sorted[2..3] && text.contains("line 1 of 1, 1 shown, 5 in all"));
        screen.press(&["Enter"]);
        moves_one(&screen, &network);

        screen.press(&["Escape", "Home", "Space", "Space"]);
        screen.wait("marks", |text| text.contains("2 marked"));
        screen.press(&["m"]);
        choose(&screen, TO);
        screen.wait("the question", |text| text.contains(&format!("Move 2 sockets of {FROM} to {TO}?")));
        screen.press(&["y"]);
        eventually(PATIENCE, || moved(&network, 2, 3)).unwrap();
        screen.wait("two that are left", |text| text.contains("2 in all"));

        screen.press(&["Escape"]);
        screen.wait("the instance", |text| Screen::row(text, FROM).is_some_and(|row| row[3] == "2"));
        screen.press(&["m"]);
        choose(&screen, TO);
        screen.wait("the question", |text| text.contains(&format!("Move 2 sockets of {FROM} (all) to {TO}?")));
        screen.press(&["y"]);
        eventually(PATIENCE, || moved(&network, 0, 5)).unwrap();
        screen.wait("the result", |text| text.contains(&format!("moved 2 of 2 sockets to {TO}")));
        screen.press(&["q"]);
        assert_eq!(screen.ended(), "0");
        drop((held, network));
        succeeds(&["unload", FROM, TO]);
    });
}

/// Neither Enter nor n is a yes; y is.
fn moves_one(screen: &Screen, network: &Network) {
    let question = format!("Move 1 socket of {FROM} to {TO}?");
    for no in ["n", "Escape"] {
        screen.press(&["m"]);
        choose(screen, TO);
        screen.wait("the question", |text| text.contains(&question));
        screen.press(&["Enter"]);
        assert!(screen.text().contains(&question), "Enter is no answer");
        screen.press(&[no]);
        screen.wait("a no", |text| text.contains("nothing was moved"));
        std::thread::sleep(Duration::from_millis(300)); // a move would be done by then
        moved(network, 5, 0).unwrap();
    }
    screen.press(&["m"]);
    choose(screen, TO);
    screen.wait("the question", |text| text.contains(&question));
    screen.press(&["y"]);
    screen.wait("the result", |text| text.contains(&format!("moved 1 of 1 socket to {TO}")));
    moved(network, 4, 1).unwrap();
}

#[test]
fn any_size() {
    support::test("sizes", 300, || {
        succeeds(&["load", "cubic"]);
        let network = Network::new().unwrap();
        let held = Connections::open(&network, SERVER_V4, Some(FROM), 30).unwrap();
        let screen = Screen::open(80, 24, "--every 200ms");
        go_into(&screen, FROM);
        screen.wait("the list", |text| text.contains("30 in all"));
        for (columns, rows) in [(200, 50), (40, 8), (10, 3), (1, 1), (80, 24)] {
            for key in ["?", "Escape", "m", "Escape", "Enter", "Escape"] {
                screen.resize(columns, rows);
                screen.press(&[key]);
            }
        }
        let text = screen.wait("the list again", |text| text.contains("30 in all"));
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert_eq!(locals(&text).len(), 20, "24 rows less title, header, sums, keys: {text}");
        screen.press(&["End"]);
        screen.wait("the last one", |text| text.contains("line 30 of 30, 30 shown"));
        assert!(screen.is_alternate());
        screen.press(&["q"]);
        assert_eq!(screen.ended(), "0");
        drop((held, network));
        succeeds(&["unload", FROM]);
    });
}

#[test]
fn an_instance_that_goes_while_it_is_looked_at() {
    support::test("goes", 300, || {
        succeeds(&["load", "cubic"]);
        let network = Network::new().unwrap();
        let held = Connections::open(&network, SERVER_V4, Some(FROM), 2).unwrap();
        let screen = Screen::open(80, 24, "--every 200ms");
        go_into(&screen, FROM);
        succeeds(&["swap", FROM, "--with", "htcp"]);
        screen.wait("sockets of before", |text| text.contains("(2 on an old program)"));
        succeeds(&["unload", FROM, "--force"]);
        screen.wait("sockets that stay", |text| {
            text.contains("(unloaded; these sockets keep it)") && text.contains("2 in all")
        });
        screen.press(&["Enter"]);
        screen.wait("one of them", |text| text.contains("(old program)"));
        drop((held, network));
        screen.wait("its end", |text| text.contains("CLOSED") && text.contains("(not in the kernel any more)"));
        screen.press(&["m"]);
        screen.wait("a refusal", |text| text.contains("this socket is closed"));
        screen.press(&["Escape", "Escape", "Escape"]);
        screen.wait("no such row", |text| text.contains("THROUGHPUT") && Screen::row(text, FROM).is_none());
        screen.press(&["q"]);
        assert_eq!(screen.ended(), "0");
    });
}

/// A marker of colour in what tmux gives: foreground colours are 30 to 37 and 90 to 97.
fn has_colour(text: &str) -> bool {
    let codes = text.split("\u{1b}[").skip(1).filter_map(|rest| rest.split('m').next());
    codes
        .flat_map(|codes| codes.split(';'))
        .filter_map(|code| code.parse::<u32>().ok())
        .any(|code| (30..=38).contains(&code) || (90..=97).contains(&code))
}

#[test]
fn terminals_that_can_do_less() {
    support::test("terminals", 300, || {
        succeeds(&["load", "cubic"]);
        let network = Network::new().unwrap();
        let held = Connections::open(&network, SERVER_V4, Some(FROM), 1).unwrap();
        let usual = "LC_ALL=C.UTF-8 TERM=screen-256color";
        let looks =
            [(usual, true, true), ("LC_ALL=C.UTF-8 NO_COLOR=1", true, false), ("LC_ALL=C TERM=vt100", false, false)];
        for (variables, is_unicode, is_coloured) in looks {
            let screen = Screen::open_with(80, 24, variables, "--every 200ms");
            go_into(&screen, FROM);
            screen.wait("the socket", |text| text.contains("1 in all"));
            screen.press(&["Enter"]);
            let text =
                screen.wait("charts", |text| text.contains("cwnd, ssthresh (dashed): pkts") && text.contains("now"));
            assert_eq!(text.is_ascii(), !is_unicode, "{variables}\n{text}");
            assert_eq!(has_colour(&screen.text_with_attributes()), is_coloured, "{variables}");
            screen.press(&["q"]);
            assert_eq!(screen.ended(), "0");
        }
        drop((held, network));
        succeeds(&["unload", FROM]);
    });
}
