mod r_families;
pub mod links;

#[dispatch_family(r_export)]
fn fit(#[static_arg] link: links::Link) -> Result<Program> {
    todo!()
}
//- src/rust/src/links.rs
#[derive(Clone)]
pub enum Link {
    Logit,
}
