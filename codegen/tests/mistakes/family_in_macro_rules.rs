mod r_families;

macro_rules! families {
    ($($name:ident)*) => {
        $(
            #[dispatch_family(r_export)]
            fn $name() -> Result<Program> {
    todo!()
}
        )*
    };
}

macro_rules! with_options {
    ($name:ident, $($option:tt)*) => {
        #[dispatch_runtime::dispatch_family($($option)*)]
        fn $name() -> Result<Program> {
    todo!()
}
    };
}

families!(a b);
