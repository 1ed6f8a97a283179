//! Results that are written back into arguments.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote_spanned};

use super::super::super::scope::{code, plain};
use super::arguments::passed;
use crate::syntax::{Count, Dynamic, Family, WriteBack};

/// The arguments that results are written back into, each with its position among the arrays.
fn written(family: &Family) -> Vec<(usize, &Dynamic, WriteBack)> {
    let arrays = family.dynamics().map(|(_, dynamic)| dynamic).enumerate();
    arrays.filter_map(|(i, dynamic)| Some((i, dynamic, dynamic.leaves()?.write_back?))).collect()
}

/// Runs the program, and writes back what is to be.
pub(super) fn run(family: &Family, output: &impl ToTokens, donated: &TokenStream) -> TokenStream {
    let written = written(family);
    if written.is_empty() {
        return code! {
            self.0.run(&entry, buffers, &mut outs, #donated, |outputs| <#output as __dispatch::OutputTree>::take(outputs))
        };
    }
    let asserts = written.iter().map(|(_, dynamic, back)| {
        let (name, leaves) = (plain(&dynamic.name), code! { <#output as __dispatch::OutputTree>::LEAVES });
        let (holds, message) = match back.result {
            None => (
                code! { #leaves == 1 },
                format!("which result is written back into `{name}`? Say it, as in `write_back = 0`"),
            ),
            Some(result) => (
                code! { #result < #leaves },
                format!("there is no result {result} to write back into `{name}`: they are counted from 0"),
            ),
        };
        quote_spanned! {back.span.resolved_at(Span::mixed_site())=>
            const _: () = ::core::assert!(#holds, #message);
        }
    });
    // All are checked before any is written.
    let does = |what: &str| -> Vec<TokenStream> {
        let does = Ident::new(what, Span::mixed_site());
        let one = |(index, dynamic, back): &(usize, &Dynamic, WriteBack)| {
            let (name, passed, result) = (plain(&dynamic.name), passed(dynamic), back.result.unwrap_or(0));
            code! { __dispatch::#does(#passed, (&results, #result), &self.0, (#name, #index))?; }
        };
        written.iter().map(one).collect()
    };
    let (checks, writes) = (does("check_back"), does("write_back"));
    code! {
        #(#asserts)*
        let results =
            self.0.run(&entry, buffers, &mut outs, #donated, |outputs| <#output as __dispatch::OutputTree>::take(outputs))?;
        #(#checks)*
        #(#writes)*
        ::core::result::Result::Ok(results)
    }
}

/// A statement that refuses an object which is written into and passed twice.
pub(super) fn distinct(family: &Family) -> Option<TokenStream> {
    let written = written(family);
    if written.is_empty() {
        return None;
    }
    let single =
        |dynamic: &&Dynamic| dynamic.leaves().is_some_and(|leaves| matches!(leaves.count, Count::One));
    let sources = family.dynamics().map(|(_, dynamic)| dynamic).filter(single).map(|dynamic| {
        let (name, passed) = (plain(&dynamic.name), passed(dynamic));
        let writes = dynamic.leaves().is_some_and(|leaves| leaves.write_back.is_some());
        code! { (#name, __dispatch::Dynamic::source(#passed), #writes) }
    });
    Some(code! { __dispatch::sources_differ(&[#(#sources),*])?; })
}
