//! Trees for people.

use super::path::symbol;
use super::{Node, NodeKind, Tree};

/// What is written before the children of a list, what between them, and what after the last one.
const OPEN: &str = "list(";
const NEXT: &str = ", ";
const CLOSE: &str = ")";

impl Tree {
    /// The structure as R code would make it, with `*` for a leaf: `list(a = *, b = list(*, NULL))`. Different
    /// structures have different texts.
    pub fn repr(&self) -> String {
        let mut out = String::new();
        self.line(0, &mut out);
        out
    }

    /// [`repr`](Tree::repr) in lines of at most `width` characters where that can be: a list that is longer has a line
    /// for each child, but for leaves without names, which share lines. Ends after `most` lines; then the second value is false.
    pub fn lines(&self, width: usize, most: usize) -> (Vec<String>, bool) {
        let widths = self.widths();
        let mut lines: Vec<String> = Vec::new();
        let mut around = Labels::default();
        // Whether the last line has nothing but leaves without names, siblings of what comes next.
        let mut fills = false;
        let mut node = 0;
        while node < self.nodes.len() {
            let Node { kind, children, end, .. } = self.nodes[node];
            let indent = around.indent();
            let mut text = String::new();
            around.write(self, &mut text);
            let bare = kind == NodeKind::Leaf && text.is_empty();
            let comma = around.comma(self);
            let long = indent.len() + text.chars().count() + widths[node] + comma.len() > width;
            let broken = children > 0 && long;
            if broken {
                text.push_str(OPEN);
            } else {
                self.line(node, &mut text);
                text.push_str(comma);
            }
            let full = lines.len() == most;
            match lines.last_mut() {
                Some(line) if fills && bare && line.len() + 1 + text.len() <= width => {
                    line.push(' ');
                    line.push_str(&text);
                }
                _ if full => return (lines, false),
                _ => lines.push(format!("{indent}{text}")),
            }
            fills = bare;
            if broken {
                around.enter(self, node);
                node += 1;
                continue;
            }
            node = end as usize;
            while around.leave(self, node) {
                if lines.len() == most {
                    return (lines, false);
                }
                lines.push(format!("{}{CLOSE}{}", around.indent(), around.comma(self)));
                fills = false;
            }
        }
        (lines, true)
    }

    /// Writes a node and what is below it in one line.
    fn line(&self, node: usize, out: &mut String) {
        let end = self.nodes[node].end as usize;
        let mut labels = Labels::default();
        for (i, &node) in self.nodes[..end].iter().enumerate().skip(node) {
            labels.write(self, out);
            out.push_str(self.text(i));
            if node.children > 0 {
                out.push_str(OPEN);
                labels.enter(self, i);
                continue;
            }
            while labels.leave(self, i + 1) {
                out.push_str(CLOSE);
            }
            if !labels.comma(self).is_empty() {
                out.push_str(NEXT);
            }
        }
    }

    /// How many characters each node has in one line, without its name.
    fn widths(&self) -> Vec<usize> {
        let mut widths = vec![0; self.nodes.len()];
        let mut label = String::new();
        for (i, node) in self.nodes.iter().enumerate().rev() {
            widths[i] = match node.children {
                0 => self.text(i).len(),
                n => {
                    let mut width = OPEN.len() + CLOSE.len() + (n as usize - 1) * NEXT.len();
                    let all_empty = self.has_empty_names(i);
                    for (child, at) in self.children_of(i).enumerate() {
                        label.clear();
                        self.label(i, child, all_empty, &mut label);
                        width += label.chars().count() + widths[at];
                    }
                    width
                }
            };
        }
        widths
    }

    /// A node without children.
    fn text(&self, node: usize) -> &'static str {
        let node = &self.nodes[node];
        match node.kind {
            NodeKind::Leaf => "*",
            NodeKind::Null => "NULL",
            NodeKind::List if node.children > 0 => "",
            NodeKind::List if node.name_range().is_some() => "named list()",
            NodeKind::List => "list()",
        }
    }

    /// Whether a list has names that are all empty; they are shown, so that it looks different from one without names.
    fn has_empty_names(&self, list: usize) -> bool {
        self.nodes[list].name_range().is_some_and(|mut range| range.all(|i| self.names.get(i).is_empty()))
    }

    fn label(&self, list: usize, child: usize, all_empty: bool, out: &mut String) {
        match self.name_of(list, child) {
            Some(name) if all_empty || !name.is_empty() => {
                symbol(out, name);
                out.push_str(" = ");
            }
            _ => {}
        }
    }
}

/// The lists around a node, each with how many children have been begun and whether it has nothing but empty names.
#[derive(Default)]
struct Labels(Vec<(usize, usize, bool)>);

impl Labels {
    fn enter(&mut self, tree: &Tree, list: usize) {
        self.0.push((list, 0, tree.has_empty_names(list)));
    }

    /// Writes the name of the next child.
    fn write(&mut self, tree: &Tree, out: &mut String) {
        if let Some((list, child, all_empty)) = self.0.last_mut() {
            tree.label(*list, *child, *all_empty, out);
            *child += 1;
        }
    }

    /// What comes after the child that was begun last.
    fn comma(&self, tree: &Tree) -> &'static str {
        match self.0.last() {
            Some(&(list, begun, _)) if begun < tree.nodes[list].children as usize => ",",
            _ => "",
        }
    }

    /// The space before a child.
    fn indent(&self) -> String {
        "  ".repeat(self.0.len())
    }

    /// Leaves the innermost list if it ends before this node.
    fn leave(&mut self, tree: &Tree, node: usize) -> bool {
        let ends = self.0.last().is_some_and(|&(list, ..)| tree.nodes[list].end as usize == node);
        if ends {
            self.0.pop();
        }
        ends
    }
}
