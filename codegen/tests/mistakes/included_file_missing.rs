mod r_families;
include!("parts/fits.rs");
