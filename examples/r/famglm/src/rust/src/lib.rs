//! Generalised linear models and ridge regression as families of programs, behind the R package of this name.
//!
//! * `model`: what the two models have in common, as the R functions name it
//! * `basis`: a basis of the columns of a design matrix in which they are far from dependent
//! * `newton`: the fits, a loop of Newton steps inside the program
//! * `after`: predictions and residuals
//! * `ridge`: ridge regression

mod after;
mod basis;
mod model;
mod newton;
mod r_families;
mod ridge;
