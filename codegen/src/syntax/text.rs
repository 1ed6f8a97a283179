//! Tokens as a user would write them, for messages.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::ToTokens;

/// Writes tokens with the usual spacing; `to_string` puts a space around each of them.
pub(crate) fn text(tokens: impl ToTokens) -> String {
    let mut out = String::new();
    write(&mut out, tokens.into_token_stream());
    out
}

fn write(out: &mut String, tokens: TokenStream) {
    let mut after_word = false;
    for tree in tokens {
        match tree {
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::None => ("", ""),
                };
                if out.ends_with("mut") && after_word {
                    out.push(' ');
                }
                out.push_str(open);
                write(out, group.stream());
                out.push_str(close);
                after_word = true;
            }
            TokenTree::Punct(punct) => {
                match punct.as_char() {
                    ',' => out.push_str(", "),
                    ';' => out.push_str("; "),
                    '=' if !out.ends_with(['=', '<', '>', '!', '.', ' ']) => out.push_str(" = "),
                    '>' if out.ends_with('-') => {
                        out.truncate(out.len() - 1);
                        out.push_str(" -> ");
                    }
                    other => out.push(other),
                }
                after_word = false;
            }
            word => {
                if after_word {
                    out.push(' ');
                }
                out.push_str(&word.to_string());
                after_word = true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_spaced_as_written() {
        for source in [
            "&mut Vec<Aval>",
            "&mut [f32]",
            "[Aval; N]",
            "a::b::C<A, B>",
            "HashMap<String, (A, B)>",
            "fn(A) -> B",
        ] {
            let tokens: TokenStream = source.parse().unwrap();
            assert_eq!(text(tokens), source);
        }
    }
}
