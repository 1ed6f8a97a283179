mod r_families;
mod fits;

/// Größen: the caret stands below its token behind letters of several bytes, too.
#[dispatch_family(r_export)]
fn fit(
    /* größe */ #[dynamic(dtype = f33, shape = [n])] x: Aval,
	#[static_arg(default = 300)]	next: u8,
    #[static_arg] pair: (i64, i64),
) -> Result<Program> {
    todo!()
}

#[derive(InputTree)]
struct Data<T> {
    x: T,
}

#[derive(StaticArg)]
enum Link {}
//- src/rust/src/fits.rs
#[dispatch_family(r_export, capacity = 0)]
async fn fit<T>(
    #[dynamic(dtype = f64, shape = [n])] x: Aval,
    #[static_arg(default = steps(
        3,
    ))] n: i64,
) -> Result<Program> {
    todo!()
}
