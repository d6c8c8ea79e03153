//! What Threadline's agents can do out of the box.
//!
//! - [`calculator`]: works out sums.
//! - [`files`]: reads files of one folder, the workspace, and nothing outside of it.
//! - [`memory`]: how much memory a call takes at most.
//! - [`recall`]: reads again what was said earlier in the agent's own thread.
//! - [`typed`]: tools from typed functions.
//! - [`widgets`]: what an agent sees on its live screen: the time, the tasks, what is shared, its
//!   notebook.
//!
//! A [`Tool`](threadline_core::tool::Tool) runs; a [`Widget`](threadline_core::widget::Widget) is
//! a reducer whose calls are recorded. What a model reads of either comes at three levels of
//! detail, and what it gets wrong is answered with what it can do instead.
//!
//! ```
//! use threadline_core::tool::{Schema, Tool as _};
//! use threadline_core::widget::Widget as _;
//! use threadline_tools::calculator::{Calculator, evaluate};
//! use threadline_tools::widgets::notebook::Notebook;
//!
//! assert_eq!(evaluate("2 + 3").unwrap(), "= 5");
//!
//! let mut specs = Notebook::new().tools();
//! specs.push(Calculator::new().spec().clone());
//! for spec in specs {
//!     assert!(Schema::new(&spec.schema).is_ok(), "{}", spec.name);
//! }
//! ```

pub mod calculator;
#[cfg(unix)]
mod diff;
#[cfg(unix)]
pub mod files;
mod matching;
pub mod memory;
pub mod recall;
#[cfg(test)]
mod testing;
mod text;
pub mod typed;
pub mod widgets;
