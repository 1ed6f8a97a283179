//! Numbers of the type `index` among what handlers are given.

use super::Scan;

/// The attributes of a handler's call that have a number of the type `index`, as text. A plugin that gives those to the
/// handler ends the process.
///
/// What stands for a type or an attribute is followed (`!t = index`, `#a = 1 : !t`); a name with an escaped sign is taken
/// for that of the attributes.
pub(in super::super) fn index_attributes(text: &str) -> Option<&str> {
    // Most programs call nothing, or have nothing of that name. The keyword of the type cannot be escaped.
    if !(text.contains("index") && (text.contains("backend_config") || text.contains('\\'))) {
        return None;
    }
    let aliases = index_aliases(text);
    let is_index = |before: &str, word: &str| {
        (word == "index" && matches!(before, ":" | "<")) || aliases.contains(&word)
    };
    let mut scan = Scan { text, at: 0 };
    while let Some(token) = scan.next() {
        let name = scan.text_of(&token).trim_matches('"');
        if !(name.ends_with("backend_config") || name.contains('\\')) {
            continue;
        }
        let after = scan.at;
        let [equals, value] =
            [scan.next(), scan.next()].map(|token| token.map_or("", |token| scan.text_of(&token)));
        let inside = match (equals, value) {
            ("=", "{") => {
                let start = scan.at;
                let end = scan.skip_group("{").unwrap_or(text.len());
                &text[start..end]
            }
            ("=", alias) if alias.starts_with('#') => alias,
            _ => {
                scan.at = after;
                continue;
            }
        };
        if has_in_a_row(inside, is_index) {
            return Some(inside.strip_suffix('}').unwrap_or(inside).trim());
        }
    }
    None
}

/// The names that stand for the type `index`, or for an attribute with a number of that type.
fn index_aliases(text: &str) -> Vec<&str> {
    let mut aliases: Vec<&str> = Vec::new();
    // A name may be used in front of its definition, so until there is nothing new.
    loop {
        let known = aliases.len();
        let mut scan = Scan { text, at: 0 };
        let mut name = "";
        while let Some(token) = scan.next() {
            let before = std::mem::replace(&mut name, scan.text_of(&token));
            if name != "=" || !before.starts_with(['#', '!']) || aliases.contains(&before) {
                continue;
            }
            let start = scan.at;
            scan.skip_value();
            let is_index = |sign: &str, word: &str| {
                (word == "index" && matches!(sign, "" | ":" | "<")) || aliases.contains(&word)
            };
            if has_in_a_row(&text[start..scan.at], is_index) {
                aliases.push(before);
            }
        }
        if aliases.len() == known {
            return aliases;
        }
    }
}

/// Whether two tokens behind each other are of a kind; there is an empty one in front.
fn has_in_a_row(text: &str, kind: impl Fn(&str, &str) -> bool) -> bool {
    let mut scan = Scan { text, at: 0 };
    let mut before = "";
    while let Some(token) = scan.next() {
        let word = scan.text_of(&token);
        if kind(before, word) {
            return true;
        }
        before = word;
    }
    false
}

impl Scan<'_> {
    /// Steps over an attribute or a type: a word or a group, what belongs to a word in brackets, and the type behind a
    /// colon.
    fn skip_value(&mut self) {
        loop {
            match self.next().map_or("", |token| self.text_of(&token)) {
                open @ ("<" | "(" | "[" | "{") => {
                    let _ = self.skip_group(open);
                }
                "-" => continue,
                _ => {}
            }
            loop {
                let after = self.at;
                match self.next().map_or("", |token| self.text_of(&token)) {
                    open @ ("<" | "(" | "[") => {
                        let _ = self.skip_group(open);
                    }
                    ":" | "->" => break,
                    _ => {
                        self.at = after;
                        return;
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_of_the_type_index_is_found_among_the_attributes_of_calls_only() {
        let call = |attributes: &str| {
            format!(
                "module {{ // backend_config = {{a = 1 : index}}\n func.func @main(%a: tensor<f32>) -> tensor<f32> {{
                   %0 = stablehlo.custom_call @f(%a) {{backend_config = {{b = \"a\"}}, api_version = 4 : i32}}
                   %1 = stablehlo.custom_call @f(%0) {{api_version = 4 : i32, backend_config = {{{attributes}}},
                     operand_layouts = [dense<> : tensor<0xindex>]}} : (tensor<f32>) -> tensor<f32>
                   return %1 : tensor<f32> }} }}"
            )
        };
        for wrong in
            ["v = 1 : index", "a = {v = 1 : index}", "a = true, v = array<index: 1, 2>", "v=-1:index"]
        {
            assert_eq!(index_attributes(&call(wrong)), Some(wrong));
        }
        for right in ["", "index = 1 : i64", "v = \"1 : index\"", "v = array<i64: 1>"] {
            assert_eq!(index_attributes(&call(right)), None, "{right}");
        }
        assert_eq!(index_attributes("backend_config = {v = 1 : index"), Some("v = 1 : index"));
        assert_eq!(index_attributes("\"backend\\5Fconfig\" = {v = 1 : index}"), Some("v = 1 : index"));
        for (aliases, attributes) in [
            ("#a = 1 : index", "#a"),
            ("#a = -1 : index", "{v = #a}"),
            ("#a = {v = 1 : index}\n#b = {a = #a}", "#b"),
            ("#b = {a = #a}\n#a = {v = array<index: 1>}", "#b"),
            ("!t = index", "{v = 1 : !t}"),
            ("!t = index\n#a = 1 : !t", "{v = {w = #a}}"),
            ("!t = index", "{v = array<!t: 1>}"),
        ] {
            let text = format!("{aliases}\n{}", call("").replace("{}", attributes));
            let inside = attributes.trim_start_matches('{').trim_end_matches('}');
            let found = index_attributes(&text).map(|found| found.trim_end_matches('}'));
            assert_eq!(found, Some(inside), "{text}");
        }
        let harmless = "#a = 1 : i64\n#map = affine_map<(d0) -> (d0)>\n!t = i64\n#loc = loc(\"index\")\n";
        let text = format!("{harmless}{}", call("v = #a, w = 1 : !t, i = \"1 : index\""));
        assert_eq!(index_attributes(&format!("{text} %i = arith.constant 1 : index")), None);
        assert_eq!(index_attributes("backend_config = \"index\" backend_config"), None);
    }
}
