mod r_families;
use links::Link as Kind;

mod links {
    #[derive(Clone, dispatch_runtime::StaticArg)]
    pub enum Link {
        Logit,
        Probit,
    }
}

#[dispatch_family(r_export)]
fn fit(
    #[static_arg(default = Kind::Logist)] a: Kind,
    #[static_arg(default = DType::F33)] dtype: DType,
    #[static_arg(default = vec![Kind::Logit, Kind::DEFAULT])] b: Vec<links::Link>,
) -> Result<Program> {
    todo!()
}
