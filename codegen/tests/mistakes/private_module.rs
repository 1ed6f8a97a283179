mod r_families;
mod fits;

//- src/rust/src/fits.rs
mod glm {
    pub mod links {
        #[dispatch_family(r_export)]
        pub fn logistic() -> Result<Program> {
    todo!()
}
    }
}
