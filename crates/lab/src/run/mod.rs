// SPDX-License-Identifier: GPL-2.0-only
//! Running scenarios: every repeat of every point is a run of its own, whose result is kept as soon as it is there.

mod error;
mod execute;
mod folder;
mod identity;
mod invalid;
mod made;
mod merge;
mod recorded;
mod repeat;
mod room;
mod summary;
mod trial;

pub use error::RunError;
pub use execute::{check, flow_series, link_series, run, Options, Progress, Report, Shard};
pub(crate) use folder::{create_anew, kernels_of, read_unit as read_record};
pub use folder::{holds_runs_of, is_done, read_made as made_of};
pub use identity::Versions;
pub use invalid::InvalidRun;
pub use made::Made;
pub use merge::{load, merge};
pub use recorded::{record_runs, recorded_files, take_recorded, Experiment, Recorded, RecordedRun};
pub use repeat::{draw, repeat, Draw, Drawn};
pub use room::check as check_room;
pub use summary::{summarise, summary_schema, AxisInfo, FlowSummary, MeasureInfo, PaperRow, PointSummary, Summary};
pub use trial::{units, FlowRecord, LinkRecord, UnitId, UnitRecord};
