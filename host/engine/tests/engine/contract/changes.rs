//! What of a contract changed in a way that components notice. It compares two contracts, and knows nothing of versions.

use std::collections::BTreeMap;

use wit_parser::{Function, Interface, Resolve, Type, TypeDefKind, WorldItem};

/// A contract, read from its text.
pub(crate) struct Contract {
    resolve: Resolve,
    /// Interfaces by name, and whether policies export them.
    interfaces: BTreeMap<String, (wit_parser::InterfaceId, bool)>,
}

impl Contract {
    /// Reads it. The world `policy` says who exports what.
    pub(crate) fn parse(text: &str) -> Self {
        let mut resolve = Resolve::default();
        let package = resolve.push_str("contract.wit", text).expect("the contract is WIT");
        let world =
            resolve.select_world(&[package], Some("policy")).expect("it has the world of every decision");
        let exported: Vec<_> = resolve.worlds[world]
            .exports
            .values()
            .filter_map(|item| if let WorldItem::Interface { id, .. } = item { Some(*id) } else { None })
            .collect();
        let interfaces = resolve.packages[package].interfaces.iter();
        let interfaces = interfaces.map(|(name, id)| (name.clone(), (*id, exported.contains(id)))).collect();
        Self { resolve, interfaces }
    }

    fn interface(&self, name: &str) -> Option<(&Interface, bool)> {
        self.interfaces.get(name).map(|(id, exported)| (&self.resolve.interfaces[*id], *exported))
    }

    /// A type as it is written: a named one by its name, the rest in full.
    fn written(&self, ty: &Type) -> String {
        let Type::Id(id) = ty else { return format!("{ty:?}").to_lowercase() };
        let def = &self.resolve.types[*id];
        match (&def.name, &def.kind) {
            // `use` makes another name for the same type; only where it leads counts.
            (Some(_), TypeDefKind::Type(inner @ Type::Id(_))) => self.written(inner),
            (Some(name), _) => name.clone(),
            (None, kind) => self.made_of(kind),
        }
    }

    /// What a type is made of, a line a part.
    fn made_of(&self, kind: &TypeDefKind) -> String {
        let optional = |ty: &Option<Type>| ty.as_ref().map_or("_".to_owned(), |ty| self.written(ty));
        let lines = |word: &str, lines: Vec<String>| format!("{word}\n{}", lines.join("\n"));
        match kind {
            TypeDefKind::Record(record) => {
                let field =
                    |field: &wit_parser::Field| format!("field {}: {}", field.name, self.written(&field.ty));
                lines("record", record.fields.iter().map(field).collect())
            }
            TypeDefKind::Variant(variant) => {
                let case = |case: &wit_parser::Case| format!("case {}({})", case.name, optional(&case.ty));
                lines("variant", variant.cases.iter().map(case).collect())
            }
            TypeDefKind::Enum(list) => {
                lines("enum", list.cases.iter().map(|case| format!("case {}", case.name)).collect())
            }
            TypeDefKind::Flags(flags) => {
                lines("flags", flags.flags.iter().map(|flag| format!("flag {}", flag.name)).collect())
            }
            TypeDefKind::Tuple(tuple) => {
                format!(
                    "tuple<{}>",
                    tuple.types.iter().map(|ty| self.written(ty)).collect::<Vec<_>>().join(", ")
                )
            }
            TypeDefKind::Option(ty) => format!("option<{}>", self.written(ty)),
            TypeDefKind::List(ty) => format!("list<{}>", self.written(ty)),
            TypeDefKind::Result(result) => {
                format!("result<{}, {}>", optional(&result.ok), optional(&result.err))
            }
            TypeDefKind::Type(ty) => self.written(ty),
            other => format!("{other:?}"),
        }
    }

    fn signature(&self, function: &Function) -> String {
        let params = function.params.iter().map(|param| self.written(&param.ty)).collect::<Vec<_>>();
        let result = function.result.as_ref().map_or("nothing".to_owned(), |ty| self.written(ty));
        format!("func({}) -> {result}", params.join(", "))
    }
}

/// What components built against `before` would notice of `after`, a sentence each.
pub(crate) fn breaks(before: &Contract, after: &Contract) -> Vec<String> {
    let mut found = Vec::new();
    for name in before.interfaces.keys() {
        let Some((old, exported)) = before.interface(name) else { continue };
        let Some((new, _)) = after.interface(name) else {
            found.push(format!("the interface {name} is gone"));
            continue;
        };
        for (function, was) in &old.functions {
            match new.functions.get(function) {
                Some(is) => {
                    let (was, is) = (before.signature(was), after.signature(is));
                    if was != is {
                        found.push(format!("{name}.{function} was {was} and is {is}"));
                    }
                }
                None => found.push(format!("the function {name}.{function} is gone")),
            }
        }
        if exported {
            let more = new.functions.keys().filter(|function| !old.functions.contains_key(*function));
            found.extend(more.map(|function| {
                format!(
                    "{name}.{function} is new, in an interface that policies export: those of before lack it"
                )
            }));
        }
        for (ty, was) in &old.types {
            let was = before.made_of(&before.resolve.types[*was].kind);
            match new.types.get(ty) {
                Some(is) => {
                    let is = after.made_of(&after.resolve.types[*is].kind);
                    if was != is {
                        found.push(format!("{name}.{ty} {}", difference(&was, &is)));
                    }
                }
                None => found.push(format!("the type {name}.{ty} is gone")),
            }
        }
    }
    found
}

/// Which lines came and went; where none did, they changed places.
fn difference(was: &str, is: &str) -> String {
    let without = |these: &str, those: &str| {
        let those: Vec<_> = those.lines().collect();
        these.lines().filter(|line| !those.contains(line)).map(|line| format!("`{line}`")).collect::<Vec<_>>()
    };
    let (gone, new) = (without(was, is), without(is, was));
    match (gone.as_slice(), new.as_slice()) {
        ([], []) => "has its parts in another order".to_owned(),
        ([], new) => format!("has gained {}", new.join(", ")),
        (gone, []) => format!("has lost {}", gone.join(", ")),
        (gone, new) => format!("had {} and has {}", gone.join(", "), new.join(", ")),
    }
}
