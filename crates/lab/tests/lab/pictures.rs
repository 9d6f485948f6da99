// SPDX-License-Identifier: GPL-2.0-only
//! Figures as PNG and PDF: their size on paper, and words without a font of the system.

use ccctl_lab::picture::{convert, Format};
use ccctl_series::{svg_of_width, Axis, Figure, Line, Panel, Point, Scale, Style};
use resvg::tiny_skia::Pixmap;

/// A column of a paper, 3.5 inches of 96 pixels; a title over white.
fn figure(title: &str) -> String {
    let axis = |label: &str| Axis { label: label.into(), unit: String::new(), scale: Scale::Linear };
    let points = vec![Point::at(0.0, 1.0), Point::at(1.0, 2.0)];
    let line = Line { label: "cwnd".into(), style: Style::Straight, points };
    let panel = Panel { y: axis("window"), lines: vec![line], marks: vec![] };
    svg_of_width(&Figure { title: title.into(), subtitle: String::new(), x: axis("time"), panels: vec![panel] }, 336.0)
}

/// Dark pixels of the strip in which the title is: 8 to 26 pixels from the top, of 300 dots where SVG has 96.
fn ink_of_title(png: &[u8]) -> usize {
    let pixels = Pixmap::decode_png(png).unwrap();
    let strip = 25 * pixels.width() as usize..81 * pixels.width() as usize;
    pixels.pixels()[strip].iter().filter(|pixel| pixel.red() < 128).count()
}

#[test]
fn a_png_has_300_dots_per_inch_and_words() {
    let png = convert(&figure("HHHH"), Format::Png).unwrap();
    let pixels = Pixmap::decode_png(&png).unwrap();
    assert_eq!(pixels.width(), 1050, "3.5 inches");
    assert_eq!(pixels.pixel(0, 0).unwrap().demultiply().red(), 255, "white ground");
    assert_eq!(ink_of_title(&convert(&figure(" "), Format::Png).unwrap()), 0);
    let (four, eight) = (ink_of_title(&png), ink_of_title(&convert(&figure("HHHHHHHH"), Format::Png).unwrap()));
    assert!(four > 1000 && (eight as f64 / four as f64 - 2.0).abs() < 0.05, "{four} {eight}");
    assert_eq!(png, convert(&figure("HHHH"), Format::Png).unwrap(), "the same figure, the same bytes");
}

#[test]
fn a_pdf_is_as_wide_as_a_column_and_has_a_font() {
    let pdf = convert(&figure("a title"), Format::Pdf).unwrap();
    assert!(pdf.starts_with(b"%PDF-"));
    let text = String::from_utf8_lossy(&pdf);
    // 3.5 inches are 252 points of PDF.
    assert!(text.contains("/MediaBox [0 0 252 "), "{}", text.lines().find(|line| line.contains("MediaBox")).unwrap());
    assert!(text.contains("LiberationSans-Bold"));
}

#[test]
fn files_that_a_figure_names_are_not_read() {
    let svg = |body: &str| format!("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"9\" height=\"9\">{body}</svg>");
    let black = svg("<rect width=\"9\" height=\"9\" fill=\"#000\"/>");
    let folder = crate::scratch::Scratch::new("picture-link");
    std::fs::write(folder.path("black.svg"), black).unwrap();
    let path = folder.path("black.svg").display().to_string();
    let link = svg(&format!("<image width=\"9\" height=\"9\" href=\"{path}\"/>"));
    let pixels = Pixmap::decode_png(&convert(&link, Format::Png).unwrap()).unwrap();
    assert!(pixels.pixels().iter().all(|pixel| pixel.alpha() == 0));
}

#[test]
fn what_is_no_figure_is_refused() {
    for wrong in ["", "<svg", "text", "<html/>"] {
        assert!(convert(wrong, Format::Png).is_err(), "{wrong:?}");
    }
    let large = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"99999\" height=\"99999\"/>";
    assert!(convert(large, Format::Png).unwrap_err().to_string().contains("too many"));
}
