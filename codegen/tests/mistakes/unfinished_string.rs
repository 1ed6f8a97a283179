mod r_families;

fn name() -> &'static str {
    "fit
}
