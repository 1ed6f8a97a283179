mod r_families;
//- src/rust/Cargo.toml
[package]
name = "pkg
