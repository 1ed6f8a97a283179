mod r_families;

fn outer() {
    #[dispatch_family(r_export)]
    fn fit() -> Result<Program> {
    todo!()
}
}

struct Model;

impl Model {
    #[dispatch_family(r_export)]
    fn predict() -> Result<Program> {
    todo!()
}
}

extern "C" {
    #[dispatch_family(r_export)]
    fn elsewhere() -> Result<Program>;
}
