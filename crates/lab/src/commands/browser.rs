// SPDX-License-Identifier: GPL-2.0-only
//! `--open`: a page in the user's browser.

use std::io::Write as _;
use std::path::Path;

/// Opens it with whatever the desktop opens pages with. The page is there all the same if nothing does.
pub fn show(page: &Path) {
    if let Err(error) = open::that_detached(page) {
        // With stderr closed there is nobody to tell.
        let _ = writeln!(std::io::stderr(), "ccctl-lab: cannot open {} in a browser: {error}", page.display());
    }
}
