//! Questions that every reader of the model asks.

use super::border::variant_name;
use super::model::{
    Capture, Class, DType, DTypes, Dynamic, DynamicKind, Family, Leaves, Occurrence, Param, Pattern,
    StaticArg, StaticBody, StaticVariant,
};
use super::words::DTYPES;

impl DType {
    /// All dtypes, in the order of the table.
    pub fn all() -> impl Iterator<Item = DType> {
        DTYPES.iter().map(|(_, dtype)| *dtype)
    }

    /// The name in the signature language: `f32`.
    pub fn name(self) -> &'static str {
        DTYPES
            .iter()
            .find(|(_, dtype)| *dtype == self)
            .map(|(name, _)| *name)
            .expect("every dtype has a name")
    }

    /// The name of the variant, here and in the runtime's `DType`: `F32`.
    pub fn variant(self) -> String {
        format!("{self:?}")
    }
}

impl Class {
    /// The dtypes of the class, in the order of the table.
    pub fn members(self) -> Vec<DType> {
        let is_float = |d: &DType| matches!(d, DType::F16 | DType::Bf16 | DType::F32 | DType::F64);
        let is_int = |d: &DType| (DType::I8..=DType::U64).contains(d);
        match self {
            Class::Any => DType::all().collect(),
            Class::Float => DType::all().filter(is_float).collect(),
            Class::Int => DType::all().filter(is_int).collect(),
        }
    }
}

impl DTypes {
    /// Every dtype allowed, in the order written; a class in the order of the table.
    pub fn members(&self) -> Vec<DType> {
        match self {
            DTypes::One(dtype) => vec![*dtype],
            DTypes::Choice(choice) => choice.clone(),
            DTypes::Class(class) => class.members(),
        }
    }

    /// The only dtype allowed, which takes no room in the key.
    pub fn fixed(&self) -> Option<DType> {
        match self {
            DTypes::One(dtype) => Some(*dtype),
            _ => None,
        }
    }
}

impl Pattern {
    /// Whether `[..]` was written: nothing to check.
    pub fn is_any(&self) -> bool {
        matches!(self.leading, Some(super::model::Leading::Anonymous)) && self.dims.is_empty()
    }

    /// The rank, if it is fixed.
    pub fn rank(&self) -> Option<usize> {
        self.leading.is_none().then_some(self.dims.len())
    }
}

impl Capture {
    /// The occurrence that binds the name.
    pub fn binding(&self) -> Occurrence {
        self.occurrences[self.source]
    }
}

impl Dynamic {
    /// The arrays, unless the argument is a tree.
    pub fn leaves(&self) -> Option<&Leaves> {
        match &self.kind {
            DynamicKind::Leaves(leaves) => Some(leaves),
            DynamicKind::Tree(_) => None,
        }
    }
}

impl Param {
    /// The argument's name.
    pub fn name(&self) -> &proc_macro2::Ident {
        match self {
            Param::Dynamic(dynamic) => &dynamic.name,
            Param::Static(fixed) => &fixed.name,
        }
    }
}

impl StaticVariant {
    /// The string that the variant is in R: `LogLog` is `"log_log"`.
    pub fn r_name(&self) -> String {
        variant_name(&self.ident)
    }
}

impl Family {
    /// The dynamic arguments with their indices.
    pub fn dynamics(&self) -> impl Iterator<Item = (usize, &Dynamic)> {
        self.params.iter().enumerate().filter_map(|(index, param)| match param {
            Param::Dynamic(dynamic) => Some((index, dynamic)),
            Param::Static(_) => None,
        })
    }

    /// The static arguments with their indices.
    pub fn statics(&self) -> impl Iterator<Item = (usize, &super::model::Static)> {
        self.params.iter().enumerate().filter_map(|(index, param)| match param {
            Param::Static(fixed) => Some((index, fixed)),
            Param::Dynamic(_) => None,
        })
    }
}

impl StaticArg {
    /// What its variants are called in other languages, in order, if it is an enum without fields; none if two of them
    /// would be one.
    pub fn r_names(&self) -> Option<Vec<String>> {
        let StaticBody::Enum(variants) = &self.body else { return None };
        let names: Vec<String> = variants.iter().map(StaticVariant::r_name).collect();
        let plain = variants.iter().all(|variant| variant.fields.is_empty());
        let distinct = names.iter().enumerate().all(|(i, name)| !names[..i].contains(name));
        (plain && distinct).then_some(names)
    }
}

#[cfg(test)]
mod tests {
    use quote::quote;

    fn names(input: proc_macro2::TokenStream) -> Option<Vec<String>> {
        super::super::static_arg(&syn::parse2(input).unwrap()).unwrap().r_names()
    }

    #[test]
    fn variants_have_names_if_none_has_fields_and_no_two_are_one() {
        let all = quote!(
            enum E {
                Logit,
                CauchyLog,
                Http2 {},
                Plain(),
            }
        );
        assert_eq!(names(all).unwrap(), ["logit", "cauchy_log", "http2", "plain"]);
        for without in [
            quote!(
                enum E {
                    Ab,
                    AB,
                }
            ),
            quote!(
                enum E {
                    A,
                    B(u8),
                }
            ),
            quote!(
                struct S;
            ),
        ] {
            assert_eq!(names(without), None);
        }
    }
}
