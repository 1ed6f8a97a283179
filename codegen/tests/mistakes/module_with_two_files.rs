mod r_families;
mod fits;
//- src/rust/src/fits.rs
//- src/rust/src/fits/mod.rs
