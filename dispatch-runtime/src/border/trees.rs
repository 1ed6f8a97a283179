//! Structures of arguments and results, field by field.

use crate::Array;
use crate::signature::Scope;

/// Where the arrays of an [`InputTree`](crate::tree::InputTree) come from: one level of the other language's structure.
/// `scope` says what the struct declares, `field` is the index of the field that is asked for.
pub trait TreeSource<L>: Sized {
    /// What goes wrong.
    type Error;

    /// Checks that there is something for each field, and nothing else. Asked first.
    fn enter(&self, scope: &'static Scope) -> Result<(), Self::Error>;

    /// The field that is one array.
    fn leaf(&self, scope: &'static Scope, field: usize) -> Result<L, Self::Error>;

    /// The field that is a list of arrays, of this length if it is fixed.
    fn list(&self, scope: &'static Scope, field: usize, len: Option<usize>) -> Result<Vec<L>, Self::Error>;

    /// The level of a field that is a struct itself.
    fn nested(&self, scope: &'static Scope, field: usize) -> Result<Self, Self::Error>;
}

/// Takes the arrays of an [`OutputTree`](crate::tree::OutputTree), in order, with the structure that they are in.
pub trait TreeVisitor {
    /// The next array.
    fn array(&mut self, array: Array);

    /// What follows, up to the [`end`](TreeVisitor::end), are this many parts of one structure: the fields of a struct, or
    /// what has no names.
    fn begin(&mut self, len: usize, names: Option<&'static [&'static str]>);

    /// The structure is complete.
    fn end(&mut self);
}

/// A list whose length was asked for.
pub fn exactly<L, const N: usize>(list: Vec<L>) -> [L; N] {
    match list.try_into() {
        Ok(array) => array,
        Err(list) => panic!("a source gave {} arrays where {N} were asked for", list.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;
    use crate::signature::field_path;
    use crate::tree::{InputTree as _, OutputTree as _};

    #[derive(InputTree)]
    struct Layer<T> {
        #[dynamic(dtype = [f32, f64], shape = [m, n])]
        w: T,
        #[dynamic(dtype = dtype(w), shape = [n])]
        biases: Vec<T>,
    }

    #[derive(InputTree)]
    struct Net<T> {
        #[dynamic]
        first: Layer<T>,
        #[dynamic(dtype = f32, shape = [])]
        r#type: T,
        #[dynamic(dtype = i32, shape = [2])]
        pair: [T; 2],
    }

    /// Notes what is asked for, and gives arrays of that dtype and shape.
    struct Asked<'a> {
        path: String,
        all: &'a std::cell::RefCell<Vec<String>>,
    }

    impl Asked<'_> {
        fn note(&self, scope: &Scope, field: usize, what: &str) -> Result<(), String> {
            let path = field_path(&self.path, scope.fields[field].name);
            self.all.borrow_mut().push(format!("{path}: {what}"));
            Ok(())
        }
    }

    impl TreeSource<Aval> for Asked<'_> {
        type Error = String;

        fn enter(&self, scope: &'static Scope) -> Result<(), String> {
            let names: Vec<&str> = scope.fields.iter().map(|field| field.name).collect();
            self.all.borrow_mut().push(format!("{} of {}", names.join(" "), scope.owner));
            Ok(())
        }

        fn leaf(&self, scope: &'static Scope, field: usize) -> Result<Aval, String> {
            self.note(scope, field, "leaf")?;
            Ok(Aval::new(DType::F32, []))
        }

        fn list(&self, scope: &'static Scope, field: usize, len: Option<usize>) -> Result<Vec<Aval>, String> {
            self.note(scope, field, &format!("list {len:?}"))?;
            Ok(vec![Aval::new(DType::I32, [2]); len.unwrap_or(3)])
        }

        fn nested(&self, scope: &'static Scope, field: usize) -> Result<Self, String> {
            Ok(Asked { path: field_path(&self.path, scope.fields[field].name), all: self.all })
        }
    }

    #[test]
    fn a_struct_asks_for_its_fields_by_name_and_length() {
        let all = std::cell::RefCell::new(Vec::new());
        let net = Net::<Aval>::build(Asked { path: String::new(), all: &all }).unwrap();
        assert_eq!((net.first.biases.len(), net.pair.len()), (3, 2));
        assert_eq!(net.first.w, net.r#type);
        assert_eq!(
            all.into_inner(),
            [
                "first type pair of Net",
                "w biases of Layer",
                "first$w: leaf",
                "first$biases: list None",
                "type: leaf",
                "pair: list Some(2)",
            ]
        );
    }

    #[dispatch_family]
    #[allow(dead_code)] // only its declaration is looked at
    fn of_a_net(#[dynamic] net: Net<Aval>, #[dynamic(dtype = f64, shape = [])] x: Aval) -> Result<Program> {
        let _ = (&net.first, &net.r#type, &net.pair, &net.first.w, &net.first.biases);
        Program::host([], [x], |_| Ok(vec![]))
    }

    #[test]
    fn a_family_shows_what_its_arrays_have_to_be() {
        use crate::family::DeclaredFamily;
        let mut all = Vec::new();
        OfANet::declare(&mut |path, scope, field| {
            let spec = &scope.fields[field];
            let leaf = spec.leaf.as_ref().unwrap();
            all.push(format!("{path}: {} of {}, {:?}", spec.is_list, scope.owner, leaf.dtype));
        });
        assert_eq!(
            all,
            [
                "net$first$w: false of Layer, Choice([f32, f64])",
                "net$first$biases: true of Layer, Same(0)",
                "net$type: false of Net, One(f32)",
                "net$pair: true of Net, One(i32)",
                "x: false of of_a_net, One(f64)",
            ]
        );
    }

    #[test]
    fn the_error_of_a_source_is_that_of_the_struct() {
        struct Nothing;
        impl TreeSource<Aval> for Nothing {
            type Error = &'static str;
            fn enter(&self, _: &'static Scope) -> Result<(), &'static str> {
                Ok(())
            }
            fn leaf(&self, _: &'static Scope, _: usize) -> Result<Aval, &'static str> {
                Ok(Aval::new(DType::F32, []))
            }
            fn list(&self, _: &'static Scope, _: usize, _: Option<usize>) -> Result<Vec<Aval>, &'static str> {
                Err("no list")
            }
            fn nested(&self, _: &'static Scope, _: usize) -> Result<Self, &'static str> {
                Ok(Nothing)
            }
        }
        assert_eq!(Net::<Aval>::build(Nothing).err(), Some("no list"));
    }

    #[derive(OutputTree)]
    struct Fit<T> {
        coef: T,
        path: [T; 2],
        r#type: Step<T>,
    }

    #[derive(OutputTree)]
    struct Step<T> {
        size: T,
    }

    /// Writes down what it is told.
    #[derive(Default)]
    struct Told(String);

    impl TreeVisitor for Told {
        fn array(&mut self, array: Array) {
            self.0 += &format!("{} ", array.to_vec::<f32>().unwrap()[0]);
        }
        fn begin(&mut self, len: usize, names: Option<&'static [&'static str]>) {
            self.0 += &format!("{len}{}( ", names.map(|n| n.join(",")).unwrap_or_default());
        }
        fn end(&mut self) {
            self.0 += ") ";
        }
    }

    #[test]
    fn results_are_given_away_in_their_structure() {
        let client = Client::host();
        let array = |x: f32| client.array(&[x], [1]).unwrap();
        let fit = Fit { coef: array(1.0), path: [array(2.0), array(3.0)], r#type: Step { size: array(4.0) } };
        let mut told = Told::default();
        (fit, (array(5.0), ()), array(6.0)).give(&mut told);
        assert_eq!(told.0, "3( 3coef,path,type( 1 2( 2 3 ) 1size( 4 ) ) 2( 5 0( ) ) 6 ) ");
    }
}
