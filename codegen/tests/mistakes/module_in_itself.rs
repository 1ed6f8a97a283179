mod r_families;
#[path = "lib.rs"]
mod again;
