//! Holds the SDK to its word: every public item has an example, and an example is compiled and run as a doctest. What the
//! bindings generate is documented in `wit/`, and shown in the examples of the modules that re-export it.

use std::path::{Path, PathBuf};

use syn::{Attribute, ImplItem, Item, Visibility};

/// The sources, less the generated names.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files.extend(self::files(&path)),
            false if path.file_stem().is_some_and(|stem| stem != "bindings") => files.push(path),
            false => {}
        }
    }
    files.sort();
    files
}

fn parsed(file: &Path) -> syn::File {
    let text = std::fs::read_to_string(file).unwrap();
    syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// The documentation, as it is written.
fn docs(attributes: &[Attribute]) -> String {
    let text = |attribute: &Attribute| match &attribute.meta {
        syn::Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
            syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(line), .. }) => Some(line.value() + "\n"),
            _ => None,
        },
        _ => None,
    };
    attributes.iter().filter_map(text).collect()
}

fn is_hidden(attributes: &[Attribute]) -> bool {
    let hidden = |attribute: &Attribute| match &attribute.meta {
        syn::Meta::List(list) => list.path.is_ident("doc") && list.tokens.to_string().contains("hidden"),
        _ => false,
    };
    attributes.iter().any(hidden)
}

fn is_exported(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| attribute.path().is_ident("macro_export"))
}

/// Public items by name, each with whether it has an example.
#[derive(Default)]
struct Found(Vec<(String, bool)>);

impl Found {
    fn note(&mut self, name: impl std::fmt::Display, attributes: &[Attribute]) {
        if !is_hidden(attributes) {
            self.0.push((name.to_string(), docs(attributes).contains("```\n")));
        }
    }

    fn note_public(&mut self, name: &syn::Ident, visibility: &Visibility, attributes: &[Attribute]) {
        if matches!(visibility, Visibility::Public(_)) {
            self.note(name, attributes);
        }
    }

    fn look_through(&mut self, items: &[Item], folder: &Path) {
        for item in items {
            match item {
                Item::Fn(item) => self.note_public(&item.sig.ident, &item.vis, &item.attrs),
                Item::Const(item) => self.note_public(&item.ident, &item.vis, &item.attrs),
                Item::Struct(item) => self.note_public(&item.ident, &item.vis, &item.attrs),
                Item::Enum(item) => self.note_public(&item.ident, &item.vis, &item.attrs),
                Item::Trait(item) => self.note_public(&item.ident, &item.vis, &item.attrs),
                Item::Type(item) => self.note_public(&item.ident, &item.vis, &item.attrs),
                Item::Macro(item) if is_exported(&item.attrs) => {
                    self.note(item.ident.as_ref().unwrap(), &item.attrs);
                }
                Item::Impl(item) if item.trait_.is_none() => self.look_through_impl(item),
                Item::Mod(item) if is_hidden(&item.attrs) => {}
                Item::Mod(item) => match &item.content {
                    Some((_, items)) => {
                        self.note_public(&item.ident, &item.vis, &item.attrs);
                        self.look_through(items, folder);
                    }
                    // Its documentation stands at the top of its file.
                    None => {
                        let file = parsed(&folder.join(format!("{}.rs", item.ident)));
                        self.note_public(&item.ident, &item.vis, &file.attrs);
                    }
                },
                _ => {}
            }
        }
    }

    fn look_through_impl(&mut self, item: &syn::ItemImpl) {
        for method in &item.items {
            if let ImplItem::Fn(method) = method {
                self.note_public(&method.sig.ident, &method.vis, &method.attrs);
            }
        }
    }
}

#[test]
fn every_public_item_has_an_example() {
    // M4
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Found::default();
    for file in files(&sources) {
        let folder = if file.ends_with("lib.rs") { sources.clone() } else { file.with_extension("") };
        found.look_through(&parsed(&file).items, &folder);
    }
    let without: Vec<&str> =
        found.0.iter().filter(|(_, has_example)| !has_example).map(|(name, _)| name.as_str()).collect();
    assert_eq!(without, [""; 0], "public items without an example, of {}", found.0.len());
    assert!(found.0.len() > 50, "{:?}", found.0);
}

#[test]
fn the_contract_is_that_of_the_wit_files() {
    let wit =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../wit/types.wit")).unwrap();
    let line = format!("package baton:policy@{};", baton_sdk::CONTRACT);
    assert!(wit.lines().any(|one| one == line), "{line}");
}
