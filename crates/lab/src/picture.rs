// SPDX-License-Identifier: GPL-2.0-only
//! Figures in other formats than SVG: PNG at 300 dots per inch, and PDF with text that can be selected.
//!
//! Words are in Liberation Sans, which is part of the program: a figure looks the same on every machine, and the font has the
//! widths of Helvetica and Arial, by which figures are laid out. Nothing that a file refers to is read. The same figure gives
//! the same bytes as PNG; as PDF the order of its objects differs.

use std::sync::Arc;

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::fontdb::Database;
use resvg::usvg::{ImageHrefResolver, Options, Tree};

const REGULAR: &[u8] = include_bytes!("../fonts/LiberationSans-Regular.ttf");
const BOLD: &[u8] = include_bytes!("../fonts/LiberationSans-Bold.ttf");
const FAMILY: &str = "Liberation Sans";

/// Pixels of SVG per inch, and of PNG.
const SVG_PX_PER_INCH: f32 = 96.0;
const PNG_PX_PER_INCH: f32 = 300.0;
/// A larger PNG would take more than 400 MB of memory.
const PIXELS_MAX: f32 = 1e8;

/// A format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// 300 dots per inch
    Png,
    /// Lines and text
    Pdf,
}

impl Format {
    /// The end of a file's name.
    #[must_use]
    pub fn extension(self) -> &'static str {
        match self {
            Self::Png => "png",
            Self::Pdf => "pdf",
        }
    }
}

/// Why a figure cannot be converted.
#[derive(Debug, thiserror::Error)]
pub enum ConvertError {
    /// It is no SVG.
    #[error("not an SVG: {0}")]
    Svg(#[from] resvg::usvg::Error),
    /// It has no pixels, or too many.
    #[error("{width} x {height} pixels are too many for a PNG")]
    Size {
        /// Of the PNG.
        width: u32,
        /// Likewise.
        height: u32,
    },
    /// The PNG could not be encoded.
    #[error("no PNG: {0}")]
    Png(String),
    /// The PDF could not be made.
    #[error("no PDF: {0}")]
    Pdf(String),
}

/// Converts an SVG.
pub fn convert(svg: &str, format: Format) -> Result<Vec<u8>, ConvertError> {
    let tree = Tree::from_str(svg, &options())?;
    match format {
        Format::Png => png(&tree),
        Format::Pdf => {
            let page = svg2pdf::PageOptions { dpi: SVG_PX_PER_INCH };
            svg2pdf::to_pdf(&tree, svg2pdf::ConversionOptions::default(), page)
                .map_err(|error| ConvertError::Pdf(error.to_string()))
        }
    }
}

fn png(tree: &Tree) -> Result<Vec<u8>, ConvertError> {
    let scale = PNG_PX_PER_INCH / SVG_PX_PER_INCH;
    let (width, height) = ((tree.size().width() * scale).ceil(), (tree.size().height() * scale).ceil());
    let refused = || ConvertError::Size { width: width as u32, height: height as u32 };
    if width * height > PIXELS_MAX {
        return Err(refused());
    }
    let mut pixels = Pixmap::new(width as u32, height as u32).ok_or_else(refused)?;
    resvg::render(tree, Transform::from_scale(scale, scale), &mut pixels.as_mut());
    pixels.encode_png().map_err(|error| ConvertError::Png(error.to_string()))
}

fn options() -> Options<'static> {
    let mut fonts = Database::new();
    fonts.load_font_data(REGULAR.to_vec());
    fonts.load_font_data(BOLD.to_vec());
    fonts.set_sans_serif_family(FAMILY);
    let nothing = ImageHrefResolver { resolve_data: Box::new(|_, _, _| None), resolve_string: Box::new(|_, _| None) };
    Options {
        fontdb: Arc::new(fonts),
        font_family: FAMILY.to_owned(),
        image_href_resolver: nothing,
        ..Options::default()
    }
}
