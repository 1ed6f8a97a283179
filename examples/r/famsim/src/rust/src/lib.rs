//! Simulations as families of programs, behind the R package of this name.
//!
//! * `key`: keys of random numbers
//! * `options`: prices of options by Monte-Carlo, in sums that are updated in place
//! * `bootstrap`: standard errors by resampling

mod bootstrap;
mod key;
mod options;
mod r_families;
