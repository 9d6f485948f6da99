// SPDX-License-Identifier: MIT OR Apache-2.0
//! The walk-through of docs/guide/two-services.md, word for word, and what the README says of the program.

use crate::support;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use ccctl_testbed::run;
use support::{claim, prepare, Folder, CCCTL};

const README: &str = include_str!("../../../../../README.md");
const WALK_THROUGH: &str = include_str!("../../../../../docs/guide/two-services.md");

/// The blocks of a language on the page.
fn blocks(language: &str) -> Vec<&'static str> {
    let fence = format!("```{language}\n");
    WALK_THROUGH.split(&fence).skip(1).map(|part| part.split("```").next().unwrap()).collect()
}

#[test]
fn two_services_follow_ten_lines() {
    support::test("walk-through", 60, || {
        let folder = Folder::new("walk-through");
        let file = blocks("toml").concat();
        assert_eq!(file.lines().count(), 10);
        folder.file("ccctl.toml", &file);
        for name in ["web", "backup"] {
            claim(name);
        }
        prepare(&["assign"]);
        let script = format!("set -e\n{}", blocks("sh").join("\necho '--'\n"));
        let programs = Path::new(CCCTL).parent().unwrap().display();
        let path = format!("{programs}:{}", std::env::var("PATH").unwrap());
        let mut bash = Command::new("bash");
        bash.args(["-c", &script]).current_dir(folder.path()).env("PATH", path);
        let output = run(&mut bash, Duration::from_secs(50)).unwrap();
        let said = format!("{}{}", output.stdout, output.stderr);
        let parts: Vec<&str> = output.stdout.split("--\n").collect();
        assert!(output.success() && parts.len() == 3, "{said}");
        let counted = |part: &str| part.split_whitespace().map(str::to_owned).collect::<Vec<_>>().join(" ");
        // each service has a control connection and one that carries data
        assert!(counted(parts[0]).contains("2 backup 2 web"), "{said}");
        assert!(parts[1].contains("swap web: htcp instead of cubic"), "{said}");
        let listed = parts[1].lines().find(|line| line.starts_with("web ")).unwrap();
        assert!(listed.contains("htcp"), "{said}");
        assert!(counted(parts[2]).contains("2 backup 4 web"), "live and new connections are as before: {said}");
        assert!(parts[2].contains("nothing of ccctl is left"), "{said}");
    });
}

/// Whoever copies the file to another host needs these there.
#[test]
fn the_readme_names_every_library_of_the_program() {
    let output = run(Command::new("ldd").arg(CCCTL), Duration::from_secs(60)).unwrap();
    assert!(output.success(), "{}", output.stderr);
    let libraries = output.stdout.lines().filter_map(|line| line.split_whitespace().next());
    let of_glibc = |library: &str| ["linux-vdso", "libc.", "libm.", "/lib"].iter().any(|own| library.starts_with(own));
    let section = README.split_once("To install:").expect("how to install").1.split("\n## ").next().unwrap();
    for library in libraries.filter(|library| !of_glibc(library)) {
        assert!(section.contains(library), "{library} is not in the README");
    }
}
