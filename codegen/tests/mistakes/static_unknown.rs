mod r_families;
use elsewhere::Mode;

#[dispatch_family(r_export)]
fn fit(#[static_arg] link: Link, #[static_arg] modes: Option<Vec<Mode>>) -> Result<Program> {
    todo!()
}
