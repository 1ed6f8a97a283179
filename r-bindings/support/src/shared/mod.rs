//! One process, several packages: what they share, and how.
//!
//! Each package that is built with this toolkit links its own copy of it, maybe from other sources and by another
//! compiler. So no Rust type crosses between packages. What is shared lives in the package `pjrtdispatch`: the client of
//! each platform, and every buffer that R sees. The others reach it through a table of C functions ([`abi::Table`],
//! for C `inst/include/pjrtdispatch.h`), which `pjrtdispatch` registers with R:
//!
//! * [`provide`] registers the table. Only `pjrtdispatch` calls it.
//! * [`join`] is what any other package calls when it is loaded. From then on [`client`](crate::client) and
//!   [`buffer`](crate::buffer) work on what is shared: a client is an engine of the package's own for the same
//!   `PJRT_Client`, a buffer is one `PJRT_Buffer` that both know.
//!
//! | who | owns | frees |
//! |---|---|---|
//! | `pjrtdispatch` | clients, devices | never: they live as long as the process |
//! | the R object of a buffer | a reference to the buffer | when R collects it, or by `release()` |
//! | an array in another package | a reference to the buffer | when its last clone is dropped, on any thread |
//! | the R object of another package's array | a reference to that array | as the first; the array's own package destroys it |
//!
//! XLA has one list of the functions that programs call, so `pjrtdispatch` keeps that too: a package's own runtime hands
//! over what is registered there (`handlers.rs`).
//!
//! The functions are called on R's thread, but for those that only count references or concern handlers. None of them jumps over the
//! caller's frames or unwinds into them: they give 1 and keep the error, which `raise()` raises. The libraries of both
//! packages have to stay in the process (link with `-z nodelete`), for either calls the other when the last reference
//! goes. A package that is loaded again finds the table as before.

pub mod abi;
mod handlers;
mod join;
mod provide;

pub use join::join;
pub(crate) use join::{Room, cache, done, go_on, joined, room, show_printed};
pub use provide::provide;
pub(crate) use provide::{guarded, named_device as device_named};
