// SPDX-License-Identifier: GPL-2.0-only
//! Statements on made-up numbers.

use ccctl_lab::experiment::Axis;
use ccctl_lab::measures::{Estimate, Reference};
use ccctl_lab::scenario::Scenario;
use ccctl_lab::statements::{judge, Judged, Results, Verdict};

use crate::scenario;

/// Three algorithms by three losses; goodput is made of the place.
const FRAME: &str = r#"title = "t"
[[link]]
name = "l"
rate = "8 Mbit/s"
delay = "10 ms"
queue = { kind = "droptail", size = "50 packets" }
[[flows]]
name = "a"
algorithm = "cubic"
path = ["l"]
[run]
duration = "10 s"
[[sweep]]
name = "algorithm"
values = ["reno", "cubic", "bic"]
set = ["flows.a.algorithm"]
[[sweep]]
name = "loss"
values = [1e-5, 1e-4, 1e-3]
set = ["link.l.loss.probability"]
with = { "link.l.loss.kind" = ["bernoulli", "bernoulli", "bernoulli"] }
[[statement]]
id = "S"
text = "s"
"#;

/// Goodput by algorithm and loss; asymmetry-like negative values for `jain`; the last point was not run.
const GOODPUT: [[Option<f64>; 3]; 3] =
    [[Some(5.0), Some(3.0), Some(1.0)], [Some(7.0), Some(6.0), Some(6.1)], [Some(8.0), Some(7.0), None]];

struct MadeUp<'a>(&'a Scenario);

impl Results for MadeUp<'_> {
    fn axes(&self) -> &[Axis] {
        &self.0.axes
    }

    fn points(&self) -> Vec<&[usize]> {
        self.0.points.iter().map(|point| point.position.as_slice()).collect()
    }

    fn value(&self, position: &[usize], reference: &Reference) -> Option<Estimate> {
        let mean = GOODPUT[position[0]][position[1]]?;
        let mean = if reference.name == "jain" { -mean } else { mean };
        Some(Estimate { mean, standard_error: Some(0.5), half_width_95: None, values: vec![] })
    }
}

fn judged(check: &str) -> Judged {
    let scenario = scenario(&format!("{FRAME}{check}")).unwrap_or_else(|error| panic!("{error}"));
    judge(&scenario.statements, &MadeUp(&scenario)).remove(0)
}

#[test]
fn each_form_is_judged_as_it_reads() {
    use Verdict::{DoesNotHold, Holds, NotEnoughData};
    for (check, expected) in [
        (r#"{ measure = "goodput", at = { algorithm = "cubic" }, is = ">=", value = 6 }"#, Holds),
        (r#"{ measure = "goodput", at = { algorithm = "cubic" }, is = ">", value = 6 }"#, DoesNotHold),
        (r#"{ measure = "goodput", is = ">=", value = 1 }"#, NotEnoughData),
        (r#"{ measure = "goodput", is = ">=", value = 2 }"#, DoesNotHold),
        (r#"{ measure = "goodput", is = ">=", value = 6, at_least = 5 }"#, Holds),
        (r#"{ measure = "goodput", is = ">=", value = 6, at_least = 6 }"#, NotEnoughData),
        (r#"{ measure = "goodput", is = ">=", value = 6, at_least = 7 }"#, DoesNotHold),
        (r#"{ measure = "goodput", at = { algorithm = "reno" }, between = [1, 5] }"#, Holds),
        (r#"{ measure = "goodput", at = { algorithm = "reno" }, between = [1, 4.9] }"#, DoesNotHold),
        (r#"{ measure = "jain", abs = true, at = { algorithm = "reno" }, is = ">=", value = 1 }"#, Holds),
        (r#"{ measure = "jain", at = { algorithm = "reno" }, is = ">=", value = 1 }"#, DoesNotHold),
        // Places: CUBIC over Reno at each loss, and twice as much at the last two only.
        (r#"{ measure = "goodput", at = { algorithm = "cubic" }, is = ">", than_at = { algorithm = "reno" } }"#, Holds),
        (
            r#"{ measure = "goodput", at = { algorithm = "cubic" }, is = ">=", times = 2, than_at = { algorithm = "reno" } }"#,
            DoesNotHold,
        ),
        (
            r#"{ measure = "goodput", at = { algorithm = "cubic" }, is = ">=", times = 2, than_at = { algorithm = "reno" }, at_least = 2 }"#,
            Holds,
        ),
        // All against all, itself left out.
        (
            r#"{ measure = "goodput", at = { algorithm = "bic", loss = 1e-5 }, is = ">", than_at = { algorithm = ["reno", "cubic", "bic"] } }"#,
            Holds,
        ),
        (
            r#"{ measure = "goodput", at = { loss = 1e-3, algorithm = ["cubic", "bic"] }, is = ">", than_at = { algorithm = "reno" } }"#,
            NotEnoughData,
        ),
        (
            r#"{ measure = "goodput", at = { algorithm = "reno", loss = 1e-5 }, is = "<", than = "goodput_per_flow" }"#,
            DoesNotHold,
        ),
        // 6 and 7 are apart by 1/7 of the larger, and by 1 / sqrt(0.5) = 1.41 standard errors.
        (
            r#"{ measure = "goodput", at = { algorithm = "cubic", loss = 1e-4 }, is = "=", within = "15 %", than_at = { loss = 1e-5 } }"#,
            Holds,
        ),
        (
            r#"{ measure = "goodput", at = { algorithm = "cubic", loss = 1e-4 }, is = "=", within = "14 %", than_at = { loss = 1e-5 } }"#,
            DoesNotHold,
        ),
        (
            r#"{ measure = "goodput", at = { algorithm = "cubic", loss = 1e-4 }, is = "=", within_errors = 1.5, than_at = { loss = 1e-5 } }"#,
            Holds,
        ),
        (
            r#"{ measure = "goodput", at = { algorithm = "cubic", loss = 1e-4 }, is = "=", within_errors = 1.4, than_at = { loss = 1e-5 } }"#,
            DoesNotHold,
        ),
        // Orders and courses.
        (r#"{ order = "ascending", measure = "goodput", over = "algorithm", at = { loss = [1e-5, 1e-4] } }"#, Holds),
        (
            r#"{ order = "descending", measure = "goodput", over = "algorithm", along = ["bic", "reno"], at = { loss = 1e-5 } }"#,
            Holds,
        ),
        (r#"{ order = "descending", measure = "goodput", over = "algorithm", at = { loss = 1e-5 } }"#, DoesNotHold),
        (r#"{ monotone = "non-increasing", measure = "goodput", over = "loss", at = { algorithm = "reno" } }"#, Holds),
        (
            r#"{ monotone = "non-increasing", measure = "goodput", over = "loss", at = { algorithm = "cubic" } }"#,
            DoesNotHold,
        ),
        (
            r#"{ monotone = "non-increasing", measure = "goodput", over = "loss", at = { algorithm = "cubic" }, slack = "2 %" }"#,
            Holds,
        ),
        (
            r#"{ monotone = "non-increasing", measure = "goodput", over = "loss", at = { algorithm = "bic" } }"#,
            NotEnoughData,
        ),
        (
            r#"{ monotone = "non-decreasing", measure = "goodput", over = "loss", at = { algorithm = "bic" } }"#,
            DoesNotHold,
        ),
        (r#"{ order = "descending", measures = ["goodput", "jain"], at = { loss = 1e-5 } }"#, Holds),
        (r#"{ order = "ascending", measures = ["goodput", "jain"], at = { loss = 1e-5 } }"#, DoesNotHold),
    ] {
        let (check, expected) = (format!("check = [{check}]"), expected);
        assert_eq!(judged(&check).verdict, expected, "{check}");
    }
}

/// BIC has 8, unknown, 7 in this order: what comes after the gap is compared with what was before it.
#[test]
fn a_course_is_judged_over_its_gaps() {
    let place = |order: &str| {
        let check = format!(
            r#"check = [{{ order = "{order}", measure = "goodput", over = "loss", along = [1e-5, 1e-3, 1e-4], at = {{ algorithm = "bic" }} }}]"#
        );
        judged(&check).checks[0].places[0].clone()
    };
    assert_eq!((place("descending").verdict, place("descending").holds_so_far), (Verdict::NotEnoughData, true));
    assert_eq!((place("ascending").verdict, place("ascending").holds_so_far), (Verdict::DoesNotHold, false));
    let one = judged(
        r#"check = [{ order = "descending", measure = "goodput", over = "algorithm", along = ["bic", "cubic"], at = { loss = 1e-3 } }]"#,
    );
    assert_eq!(one.verdict, Verdict::NotEnoughData);
    assert!(!one.checks[0].places[0].holds_so_far, "of two values one is known");
}

#[test]
fn a_statement_holds_when_enough_of_its_checks_do() {
    let checks = r#"check = [
    { measure = "goodput", at = { algorithm = "reno", loss = 1e-5 }, is = ">", value = 1 },
    { measure = "goodput", at = { algorithm = "reno", loss = 1e-5 }, is = ">", value = 100 },
    { measure = "goodput", at = { algorithm = "bic", loss = 1e-3 }, is = ">", value = 1 },
]
"#;
    assert_eq!(judged(checks).verdict, Verdict::DoesNotHold);
    assert_eq!(judged(&format!("{checks}at_least = 1")).verdict, Verdict::Holds);
    assert_eq!(judged(&format!("{checks}at_least = 2")).verdict, Verdict::NotEnoughData);
}

#[test]
fn our_numbers_are_told() {
    let judged = judged(
        r#"check = [{ measure = "goodput", at = { algorithm = "cubic", loss = 1e-4 }, is = ">", times = 2, than_at = { algorithm = "reno" } }]"#,
    );
    let place = &judged.checks[0].places[0];
    assert_eq!(place.place, "algorithm = cubic, loss = 0.0001");
    assert_eq!(place.found, "goodput 6 ± 0.5 > 2 times goodput 3 ± 0.5 at algorithm = reno, loss = 0.0001");
}
