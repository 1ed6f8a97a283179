mod r_families;
//- src/rust/Cargo.toml
[package]
name = "my-pkg"

[lib]
name = "other"
crate-type = ["cdylib", "rlib"]

[profile.release]
panic = "abort"
lto = true
