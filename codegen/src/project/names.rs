//! What the names in a crate's modules stand for: modules, types, and what is imported from elsewhere.
//!
//! As far as the generator needs it: the paths by which the generated module can name a family, the declarations behind
//! the types in a signature, and other names of the toolkit's attributes.

use std::collections::{BTreeMap, VecDeque};

use syn::ext::IdentExt;
use syn::{Item, Path, UseTree, VisRestricted, Visibility};

use super::sources::Module;

/// What a name stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Entity {
    /// The module with this index.
    Module(usize),
    /// The type with this name in the module with this index.
    Type(usize, String),
    /// A path that begins outside of the crate.
    External(Vec<String>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    entity: Entity,
    /// The path of the module in which, and in whose modules, the name is visible.
    scope: Vec<String>,
    /// Whether it comes from `use module::*`, and gives way to others.
    glob: bool,
}

/// A `use`, flattened.
struct Import {
    module: usize,
    path: Vec<String>,
    /// Whether it begins with `::`.
    outside: bool,
    /// The name that it gets; none of a glob.
    name: Option<String>,
    scope: Vec<String>,
}

/// The names of all modules.
#[derive(Debug)]
pub(crate) struct Names<'a> {
    modules: &'a [Module],
    entries: Vec<BTreeMap<String, Vec<Entry>>>,
}

impl<'a> Names<'a> {
    /// The names in a crate, with these further items of which a path may be asked for: the module of each, its name and its
    /// visibility.
    pub(crate) fn new(modules: &'a [Module], families: &[(usize, String, Visibility)]) -> Names<'a> {
        let mut names = Names { modules, entries: vec![BTreeMap::new(); modules.len()] };
        let mut imports = Vec::new();
        for (index, module) in modules.iter().enumerate() {
            if let Some(parent) = module.parent {
                let name = module.path.last().expect("only the root has no name").clone();
                let scope = scope(&module.vis, &modules[parent].path);
                names.add(parent, name, Entry { entity: Entity::Module(index), scope, glob: false });
            }
            for (_, item) in &module.items {
                match item {
                    Item::Struct(item) => names.add_type(index, item.ident.unraw().to_string(), &item.vis),
                    Item::Enum(item) => names.add_type(index, item.ident.unraw().to_string(), &item.vis),
                    Item::Union(item) => names.add_type(index, item.ident.unraw().to_string(), &item.vis),
                    Item::Type(item) => names.add_type(index, item.ident.unraw().to_string(), &item.vis),
                    Item::Use(item) => {
                        let mut add = |path: Vec<String>, name: Option<String>| {
                            let (outside, scope) =
                                (item.leading_colon.is_some(), scope(&item.vis, &module.path));
                            imports.push(Import { module: index, path, outside, name, scope });
                        };
                        flatten(&item.tree, &mut Vec::new(), &mut add);
                    }
                    _ => {}
                }
            }
        }
        for (module, name, vis) in families {
            names.add_type(*module, name.clone(), vis);
        }
        names.import(&imports);
        names
    }

    fn add_type(&mut self, module: usize, name: String, vis: &Visibility) {
        let scope = scope(vis, &self.modules[module].path);
        let entity = Entity::Type(module, name.clone());
        self.add(module, name, Entry { entity, scope, glob: false });
    }

    /// Whether it was new.
    fn add(&mut self, module: usize, name: String, entry: Entry) -> bool {
        let entries = self.entries[module].entry(name).or_default();
        let new = !entries.contains(&entry);
        if new {
            entries.push(entry);
        }
        new
    }

    /// Follows all imports until nothing is new; what then leads nowhere comes from outside, and may be imported again.
    fn import(&mut self, imports: &[Import]) {
        for outside in [false, true] {
            loop {
                let mut new = false;
                for import in imports {
                    for (name, entry) in self.imported(import, outside) {
                        new |= self.add(import.module, name, entry);
                    }
                }
                if !new {
                    break;
                }
            }
        }
    }

    fn imported(&self, import: &Import, outside: bool) -> Vec<(String, Entry)> {
        let from = import.module;
        // A name that is imported is no more visible than it was; both scopes have the importing module in them.
        let entry = |entity: &Entity, scope: &[String]| {
            let scope = if scope.len() > import.scope.len() { scope } else { &import.scope };
            Entry { entity: entity.clone(), scope: scope.to_vec(), glob: import.name.is_none() }
        };
        let found = if import.outside { None } else { self.find(from, &import.path) };
        match (&import.name, found) {
            (Some(name), Some((entity, scope))) => vec![(name.clone(), entry(&entity, &scope))],
            (Some(name), None) if outside => {
                vec![(name.clone(), entry(&Entity::External(import.path.clone()), &[]))]
            }
            (None, Some((Entity::Module(module), _))) => {
                let visible = self.entries[module].keys().filter_map(|name| {
                    let seen = self.visible(module, name, from)?;
                    Some((name.clone(), entry(&seen.entity, &seen.scope)))
                });
                visible.collect()
            }
            _ => Vec::new(),
        }
    }

    /// What a name of a module stands for, seen from another.
    fn visible(&self, module: usize, name: &str, from: usize) -> Option<&Entry> {
        let seen = |entry: &&Entry| self.modules[from].path.starts_with(&entry.scope);
        self.entries[module].get(name)?.iter().filter(seen).min_by_key(|entry| entry.glob)
    }

    /// What a path in a module stands for, and the scope of its last name; none of one that is not of this crate and not
    /// imported.
    fn find(&self, from: usize, path: &[String]) -> Option<(Entity, Vec<String>)> {
        let (mut at, mut scope) = (Entity::Module(from), Vec::new());
        for (index, name) in path.iter().enumerate() {
            at = match (&at, name.as_str()) {
                (_, "crate") if index == 0 => Entity::Module(0),
                (Entity::Module(_), "self") => at,
                (Entity::Module(module), "super") => Entity::Module(self.modules[*module].parent?),
                (Entity::Module(module), name) => {
                    let entry = self.visible(*module, name, from)?;
                    scope.clone_from(&entry.scope);
                    entry.entity.clone()
                }
                (Entity::External(outer), name) => {
                    Entity::External(outer.iter().cloned().chain([name.to_owned()]).collect())
                }
                // A variant, or an associated type.
                (Entity::Type(..), _) => return None,
            };
        }
        Some((at, scope))
    }

    /// What a path that is written in a module stands for.
    pub(crate) fn resolve(&self, from: usize, path: &Path) -> Option<Entity> {
        if path.leading_colon.is_some() {
            return None;
        }
        let segments: Vec<String> =
            path.segments.iter().map(|segment| segment.ident.unraw().to_string()).collect();
        self.find(from, &segments).map(|(entity, _)| entity)
    }

    /// Whether a path that is written in a module is this item of the toolkit: by its own name, or as it was imported.
    pub(crate) fn is_ours(&self, from: usize, path: &Path, name: &str) -> bool {
        match self.resolve(from, path) {
            Some(Entity::External(path)) => path.last().is_some_and(|last| last == name),
            // A type of that name hides no macro.
            _ => path.segments.last().is_some_and(|last| last.ident == name),
        }
    }

    /// The shortest path from the root by which all modules of the crate can name a type; its own if it can.
    pub(crate) fn path_for_all(&self, module: usize, name: &str) -> Option<Vec<String>> {
        let wanted = Entity::Type(module, name.to_owned());
        let own = &self.modules[module].path;
        let (mut seen, mut queue) = (vec![false; self.modules.len()], VecDeque::from([(0, Vec::new())]));
        let mut found: Option<Vec<String>> = None;
        seen[0] = true;
        while let Some((at, path)) = queue.pop_front() {
            for (name, entries) in &self.entries[at] {
                for entry in entries.iter().filter(|entry| entry.scope.is_empty()) {
                    let named: Vec<String> = path.iter().cloned().chain([name.clone()]).collect();
                    if entry.entity == wanted {
                        let is_own = named[..named.len() - 1] == own[..];
                        if is_own {
                            return Some(named);
                        }
                        found.get_or_insert(named);
                    } else if let Entity::Module(next) = entry.entity {
                        if !std::mem::replace(&mut seen[next], true) {
                            queue.push_back((next, named));
                        }
                    }
                }
            }
        }
        found
    }
}

/// The module in which, and in whose modules, an item with this visibility can be named.
pub(crate) fn scope(vis: &Visibility, module: &[String]) -> Vec<String> {
    match vis {
        Visibility::Public(_) => Vec::new(),
        Visibility::Inherited => module.to_vec(),
        Visibility::Restricted(VisRestricted { path, .. }) => {
            let mut at = module.to_vec();
            for (index, segment) in path.segments.iter().enumerate() {
                match segment.ident.to_string().as_str() {
                    "crate" => at.clear(),
                    "self" => {}
                    "super" => {
                        at.pop();
                    }
                    // Before edition 2018 a path began at the root.
                    name if index == 0 => at = vec![name.to_owned()],
                    name => at.push(name.to_owned()),
                }
            }
            at
        }
    }
}

/// Each name that a `use` brings: its path, and the name that it gets, none of a glob.
fn flatten(tree: &UseTree, path: &mut Vec<String>, add: &mut impl FnMut(Vec<String>, Option<String>)) {
    match tree {
        UseTree::Path(tree) => {
            path.push(tree.ident.unraw().to_string());
            flatten(&tree.tree, path, add);
            path.pop();
        }
        UseTree::Name(tree) => {
            let name = tree.ident.unraw().to_string();
            if name == "self" {
                add(path.clone(), path.last().cloned());
            } else {
                add(path.iter().cloned().chain([name.clone()]).collect(), Some(name));
            }
        }
        UseTree::Rename(tree) => {
            let (name, rename) = (tree.ident.unraw().to_string(), tree.rename.unraw().to_string());
            let own = (name != "self").then_some(name);
            add(path.iter().cloned().chain(own).collect(), Some(rename));
        }
        UseTree::Glob(_) => add(path.clone(), None),
        UseTree::Group(tree) => tree.items.iter().for_each(|tree| flatten(tree, path, add)),
    }
}
