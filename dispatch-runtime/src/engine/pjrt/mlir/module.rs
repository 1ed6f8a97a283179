//! The text of a program, cut so that its functions can stand in another program.

use std::ops::Range;

use super::Scan;

/// The text of a module with a function `@main`, and the places in it where a name stands that the text defines itself.
///
/// ```text
/// #loc = loc("model.py":3:1)                                     an alias
/// module @m {
///   func.func private @f(%a: tensor<f32>) -> tensor<f32> { … }    the definition of a symbol
///   func.func public @main(%a: tensor<f32>) -> tensor<f32> {
///     %0 = call @f(%a) : (tensor<f32>) -> tensor<f32> loc(#loc)   a use of both
///     %1 = stablehlo.custom_call @f(%0) : …                       another name, that of a target
/// ```
#[derive(Debug)]
pub(crate) struct ModuleText {
    text: String,
    /// The names that it defines, without `@`; `main` is one of them.
    symbols: Vec<String>,
    /// The names of the attributes (`#loc`) and types (`!t`) that it abbreviates, without the sign.
    aliases: Vec<String>,
    /// Where they are defined, in the order of the text.
    definitions: Vec<Range<usize>>,
    /// What else there is in the module: its functions.
    functions: Vec<Range<usize>>,
    /// What stands for what, in the order of the text.
    edits: Vec<(Range<usize>, Edit)>,
    /// Whether it has a call with an effect of its own.
    pub has_effect: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Edit {
    /// A name of `symbols`, with its `@`.
    Symbol(usize),
    /// A name of `aliases`, behind its sign.
    Alias(usize),
    /// The visibility of a function; nobody outside asks for it.
    Visibility,
}

impl ModuleText {
    /// Reads a module, or says why its functions cannot stand elsewhere, in words that follow `the program `.
    pub fn new(text: String) -> Result<ModuleText, String> {
        let mut module = ModuleText {
            text: String::new(),
            symbols: Vec::new(),
            aliases: Vec::new(),
            definitions: Vec::new(),
            functions: Vec::new(),
            edits: Vec::new(),
            has_effect: false,
        };
        module.cut(&text)?;
        if !module.symbols.iter().any(|symbol| symbol == "main") {
            return Err("has no `func.func @main(…)`".into());
        }
        module.find_uses(&text);
        module.edits.sort_by_key(|(place, _)| place.start);
        module.text = text;
        Ok(module)
    }

    /// The names that it defines; `main` is one of them.
    pub fn symbols(&self) -> &[String] {
        &self.symbols
    }

    /// The names of attributes and types that it abbreviates.
    pub fn aliases(&self) -> &[String] {
        &self.aliases
    }

    /// Writes the abbreviations, which have to stand outside of the module, under these names.
    pub fn write_aliases(&self, out: &mut String, symbols: &[String], aliases: &[String]) {
        for definition in &self.definitions {
            self.write(out, definition, symbols, aliases);
            out.push('\n');
        }
    }

    /// Writes the functions, all private, under these names.
    pub fn write_functions(&self, out: &mut String, symbols: &[String], aliases: &[String]) {
        for functions in &self.functions {
            self.write(out, functions, symbols, aliases);
            out.push('\n');
        }
    }

    fn write(&self, out: &mut String, range: &Range<usize>, symbols: &[String], aliases: &[String]) {
        let mut copied = range.start;
        let first = self.edits.partition_point(|(place, _)| place.start < range.start);
        for (place, edit) in self.edits[first..].iter().take_while(|(place, _)| place.end <= range.end) {
            out.push_str(&self.text[copied..place.start]);
            match *edit {
                Edit::Symbol(i) => {
                    out.push('@');
                    out.push_str(&symbols[i]);
                }
                Edit::Alias(i) => out.push_str(&aliases[i]),
                Edit::Visibility if place.is_empty() => out.push_str("private "),
                Edit::Visibility => out.push_str("private"),
            }
            copied = place.end;
        }
        out.push_str(&self.text[copied..range.end]);
    }

    /// Tells definitions of aliases, functions and the module around them apart.
    fn cut(&mut self, text: &str) -> Result<(), String> {
        let mut scan = Scan { text, at: 0 };
        // Where what is being read begins, and whether that is an alias.
        let mut open: Option<(usize, bool)> = None;
        let (mut in_module, mut module_ended, mut end) = (false, false, 0);
        while let Some(token) = scan.next() {
            let word = scan.text_of(&token);
            let is_alias = word.starts_with(['#', '!']) && followed_by(&scan, "=");
            let begins = is_alias
                || matches!(word, "module" | "builtin.module" | "func.func")
                || word == "}" && in_module;
            if begins {
                self.close(open.take(), end);
            }
            match word {
                _ if is_alias => {
                    if in_module {
                        return Err(format!("defines `{word}` within its module"));
                    }
                    self.aliases.push(word[1..].to_owned());
                    open = Some((token.start, true));
                }
                "module" | "builtin.module" if in_module || module_ended || !self.functions.is_empty() => {
                    return Err("has more than one module".into());
                }
                "module" | "builtin.module" => {
                    // Its name and its attributes say nothing of the functions.
                    while let Some(token) = scan.next() {
                        match scan.text_of(&token) {
                            "attributes" => {
                                scan.next();
                                scan.skip_group("{")?;
                            }
                            "{" => break,
                            _ => {}
                        }
                    }
                    in_module = true;
                }
                "}" if in_module => (in_module, module_ended) = (false, true),
                "loc" if module_ended && followed_by(&scan, "(") => {
                    scan.next();
                    scan.skip_group("(")?;
                }
                _ if module_ended && open.is_none() => {
                    return Err(format!("has `{word}` behind its module"));
                }
                _ if word.starts_with('"') && !matches!(open, Some((_, true))) => {
                    return Err(format!("has {word} in it, the generic form of an operation"));
                }
                "func.func" => {
                    open = Some((token.start, false));
                    self.visibility(&mut scan);
                }
                "(" | "[" | "{" | "<" => {
                    scan.skip_group(word)?;
                }
                _ => {
                    if word.starts_with('@') && !matches!(open, Some((_, true))) {
                        self.define(word)?;
                    }
                    // Any other operation that stands beside the functions.
                    open.get_or_insert((token.start, false));
                }
            }
            end = scan.at;
        }
        self.close(open, end);
        if in_module { Err("ends within its module".into()) } else { Ok(()) }
    }

    fn close(&mut self, open: Option<(usize, bool)>, end: usize) {
        match open {
            Some((start, true)) => self.definitions.push(start..end),
            Some((start, false)) => self.functions.push(start..end),
            None => {}
        }
    }

    /// Behind `func.func`: the place of its visibility, which may be empty.
    fn visibility(&mut self, scan: &mut Scan<'_>) {
        let before = scan.at;
        let Some(token) = scan.next() else { return };
        let place = match scan.text_of(&token) {
            "public" | "private" | "nested" => token,
            _ => {
                scan.at = before;
                token.start..token.start
            }
        };
        self.edits.push((place, Edit::Visibility));
    }

    /// A symbol is defined; where it stands is found with its uses.
    fn define(&mut self, word: &str) -> Result<(), String> {
        let symbol = symbol(word);
        if self.symbols.iter().any(|known| known == symbol) {
            return Err(format!("defines `@{symbol}` twice"));
        }
        self.symbols.push(symbol.to_owned());
        Ok(())
    }

    /// Finds where the defined names stand.
    fn find_uses(&mut self, text: &str) {
        let mut scan = Scan { text, at: 0 };
        let mut before = ["", "", ""];
        while let Some(token) = scan.next() {
            let word = scan.text_of(&token);
            let target = matches!(before[2], "stablehlo.custom_call" | "mhlo.custom_call");
            let nested = before[1] == ":" && before[2] == ":";
            if word.starts_with('@') && !target && !nested {
                let symbol = symbol(word);
                if let Some(i) = self.symbols.iter().position(|known| known == symbol) {
                    self.edits.push((token.clone(), Edit::Symbol(i)));
                }
            } else if word.starts_with(['#', '!']) {
                if let Some(i) = self.aliases.iter().position(|known| *known == word[1..]) {
                    self.edits.push((token.start + 1..token.end, Edit::Alias(i)));
                }
            }
            self.has_effect |= before[1..] == ["has_side_effect", "="] && word == "true";
            before = [before[1], before[2], word];
        }
    }
}

/// A symbol's name, which may be quoted: `@f`, `@"f"`.
fn symbol(word: &str) -> &str {
    word[1..].trim_matches('"')
}

/// Whether this token is the next one.
fn followed_by(scan: &Scan<'_>, token: &str) -> bool {
    let mut ahead = Scan { text: scan.text, at: scan.at };
    ahead.next().is_some_and(|next| ahead.text_of(&next) == token)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text with `_` behind each name that is renamed, in one line.
    fn renamed(text: &str) -> String {
        let module = ModuleText::new(text.to_owned()).unwrap();
        let longer = |names: &[String]| names.iter().map(|name| format!("{name}_")).collect::<Vec<_>>();
        let (symbols, aliases) = (longer(module.symbols()), longer(module.aliases()));
        let mut out = String::new();
        module.write_aliases(&mut out, &symbols, &aliases);
        out.push_str("| ");
        module.write_functions(&mut out, &symbols, &aliases);
        out.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn functions_are_private_and_what_is_around_them_is_gone() {
        let f = "func.func private @f(%a: i1) -> i1 { return %a : i1 }";
        let main = |visibility: &str| format!("func.func {visibility}@main() {{ return }}");
        let expected =
            "| func.func private @f_(%a: i1) -> i1 { return %a : i1 } func.func private @main_() { return }";
        for text in [
            format!("{f} {}", main("")),
            format!("module {{ {f} {} }}", main("public ")),
            format!(
                "builtin.module @m attributes {{a = \"}}\"}} {{ {f}\n{} }} loc(unknown) // the end",
                main("nested ")
            ),
        ] {
            assert_eq!(renamed(&text), expected, "{text}");
        }
    }

    #[test]
    fn only_names_that_the_text_defines_are_others() {
        let uses = "call @f() : () -> () stablehlo.custom_call @f() : () -> () mhlo.custom_call @f() \
                    %0 = \"op\"() {a = @f, b = \"@f\", c = @m::@f, d = [@f, @g], e = @\"f\", f = #f, g = #stablehlo<x>}";
        let text = format!(
            "#f = @f !t = tuple<!u> module {{ func.func @main() {{ {uses} }} func.func @f() loc(#f) }}"
        );
        assert_eq!(
            renamed(&text),
            "#f_ = @f_ !t_ = tuple<!u> | func.func private @main_() { call @f_() : () -> () stablehlo.custom_call @f() : \
             () -> () mhlo.custom_call @f() %0 = \"op\"() {a = @f_, b = \"@f\", c = @m::@f, d = [@f_, @g], e = @f_, f = #f_, \
             g = #stablehlo<x>} } func.func private @f_() loc(#f_)"
        );
    }

    #[test]
    fn abbreviations_stand_in_front_of_a_module_and_behind_it() {
        let text = "#a = loc(\"x\"(#b))\nmodule { func.func @main(%x: !t) { } loc(#b) sdy.mesh @mesh = <[\"x\"=2]> } loc(#a)\n\
                    #b = loc(\"module {\":1:2) !t = tensor<2xf32, #c> #c = \"text\"";
        assert_eq!(
            renamed(text),
            "#a_ = loc(\"x\"(#b_)) #b_ = loc(\"module {\":1:2) !t_ = tensor<2xf32, #c_> #c_ = \"text\" | func.func private \
             @main_(%x: !t_) { } loc(#b_) sdy.mesh @mesh_ = <[\"x\"=2]>"
        );
        let without_module = "#a = 1 : i32 func.func @main() { } #b = #a func.func @f() { }";
        assert_eq!(
            renamed(without_module),
            "#a_ = 1 : i32 #b_ = #a_ | func.func private @main_() { } func.func private @f_() { }"
        );
    }

    #[test]
    fn an_effect_is_seen() {
        let effect = |said: &str| {
            let call = format!("func.func @main() {{ stablehlo.custom_call @f() {{{said}}} : () -> () }}");
            ModuleText::new(call).unwrap().has_effect
        };
        assert!(effect("has_side_effect = true"));
        assert!(!effect("has_side_effect = false, other = true"));
        assert!(!effect("about = \"has_side_effect = true\""));
    }

    #[test]
    fn what_cannot_stand_elsewhere_is_refused() {
        for (text, reason) in [
            ("", "has no `func.func @main(…)`"),
            ("module { func.func @f() { } }", "has no `func.func @main(…)`"),
            ("module { func.func @main() { }", "ends within its module"),
            ("module { } module { }", "has more than one module"),
            ("module { module { } }", "has more than one module"),
            ("module { #a = 1 : i32 func.func @main() { } }", "defines `#a` within its module"),
            ("module { func.func @main() { } } {-# #-}", "has `{` behind its module"),
            ("\"builtin.module\"() ({ })", "has \"builtin.module\" in it, the generic form of an operation"),
            ("func.func @main() { } func.func @main() { }", "defines `@main` twice"),
        ] {
            assert_eq!(ModuleText::new(text.to_owned()).unwrap_err(), reason, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_cut_or_refused(
            pieces in proptest::collection::vec(proptest::sample::select(vec![
                "func.func", " ", "@main", "@f", "(", ")", "%a", ":", "tensor<2xf32>", "#a", " = ", "!t", "{", "}", "\"",
                "\\", "//", "\n", "<", ">", "->", "loc", "é", "@\"f\"", "module", "private", "[", "]", "attributes",
            ]), 0..40),
        ) {
            let text = format!("{} func.func @main() {{ }}", pieces.concat());
            if let Ok(module) = ModuleText::new(text) {
                let mut out = String::new();
                let names = |names: &[String]| vec!["name".to_owned(); names.len()];
                let (symbols, aliases) = (names(module.symbols()), names(module.aliases()));
                module.write_aliases(&mut out, &symbols, &aliases);
                module.write_functions(&mut out, &symbols, &aliases);
            }
        }
    }
}
