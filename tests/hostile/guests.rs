//! Components made at test time, without any WebAssembly toolchain: the worlds of `wit/` with function bodies written
//! as text. It makes guests and asks nothing of them.

#![allow(dead_code, unreachable_pub)] // Several test binaries use it, each its part.

use std::fmt::Write as _;

use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::abi::{WasmSignature, WasmType};
use wit_parser::{
    Function, InterfaceId, LiftLowerAbi, ManglingAndAbi, Resolve, WasmExport, WasmExportKind, WasmImport,
    WorldItem, WorldKey,
};

const MANGLING: ManglingAndAbi = ManglingAndAbi::Legacy(LiftLowerAbi::Sync);

/// The contract, as one text, so that a test can change a line of it.
pub fn contract() -> String {
    [
        include_str!("../../wit/types.wit"),
        include_str!("../../wit/questions.wit"),
        include_str!("../../wit/imports.wit"),
        include_str!("../../wit/facts.wit"),
        include_str!("../../wit/decisions.wit"),
        include_str!("../../wit/worlds.wit"),
    ]
    .join("\n")
}

/// A guest of one decision world.
pub struct GuestBuilder {
    world: &'static str,
    wit: String,
    before: String,
    bodies: Vec<(String, String)>,
    after_return: String,
    imports: Vec<(&'static str, &'static str)>,
    realloc: String,
    items: String,
    pages: u32,
}

/// Where a decision, or another result, is written by hand: above the null page, below the data and the heap.
pub const DECISION: u32 = 64;
/// Where the reason of a `compaction-decision` is: address, then length.
pub const REASON: u32 = DECISION + 16;
/// Where an answer begins: the byte that says that it is one, and no abstention, is there from the first.
pub const ANSWER: u32 = DECISION - 4;

/// Hands out memory from 64 KiB on, and grows it.
const BUMP: &str = "
    (local $at i32)
    (local.set $at (i32.and
        (i32.add (global.get $heap) (i32.sub (local.get 2) (i32.const 1)))
        (i32.sub (i32.const 0) (local.get 2))))
    (global.set $heap (i32.add (local.get $at) (local.get 3)))
    (block $fits
        (br_if $fits (i32.le_u (global.get $heap) (i32.mul (memory.size) (i32.const 65536))))
        (br_if $fits (i32.ge_s (memory.grow (i32.add (i32.div_u (local.get 3) (i32.const 65536)) (i32.const 1))) (i32.const 0)))
        unreachable)
    (local.get $at)";

impl GuestBuilder {
    /// Of this world; every function traps until it gets a body.
    pub fn new(world: &'static str) -> Self {
        Self {
            world,
            wit: contract(),
            before: String::new(),
            bodies: Vec::new(),
            after_return: String::new(),
            imports: Vec::new(),
            realloc: BUMP.to_owned(),
            items: String::new(),
            pages: 2,
        }
    }

    /// One that answers `compaction.decide` with "keep", as a well-behaved policy would.
    pub fn good(reason: &str) -> Self {
        Self::new("compaction-policy").answering(reason.len() as u32).data(1024, reason)
    }

    /// One whose `compaction.decide` has this body, which leaves the address of its answer.
    pub fn deciding(body: &str) -> Self {
        Self::new("compaction-policy").body("decide", body)
    }

    /// One that abstains from every question.
    pub fn abstaining() -> Self {
        Self::deciding(&format!("(i32.store8 (i32.const {ANSWER}) (i32.const 0)) (i32.const {ANSWER})"))
    }

    /// Answers "keep" with a reason that begins at 1024 and is said to have so many bytes.
    pub fn answering(self, reason_bytes: u32) -> Self {
        self.body(
            "decide",
            &format!(
                "(i32.store (i32.const {}) (i32.const 1024))
                 (i32.store (i32.const {}) (i32.const {reason_bytes}))
                 (i32.const {ANSWER})",
                REASON,
                REASON + 4
            ),
        )
    }

    /// Gives a function its body: every one of this name, or with its interface before it the one there.
    pub fn body(mut self, function: &str, body: &str) -> Self {
        self.bodies.push((function.to_owned(), body.to_owned()));
        self
    }

    /// Puts bytes into its memory.
    pub fn data(mut self, at: u32, text: &str) -> Self {
        let bytes: String = text.bytes().map(|byte| format!("\\{byte:02x}")).collect();
        let _ = writeln!(self.items, "(data (i32.const {at}) \"{bytes}\")");
        self
    }

    /// Begins with so many pages of memory.
    pub fn pages(mut self, pages: u32) -> Self {
        self.pages = pages;
        self
    }

    /// Adds any module item.
    pub fn item(mut self, item: &str) -> Self {
        self.items.push_str(item);
        self
    }

    /// Runs this whenever an instance is made.
    pub fn starting_with(self, body: &str) -> Self {
        self.item(&format!("(func $start {body}) (start $start)"))
    }

    /// Runs this after an answer was read.
    pub fn after_return(mut self, body: &str) -> Self {
        self.after_return = body.to_owned();
        self
    }

    /// Replaces how it hands out memory.
    pub fn realloc(mut self, body: &str) -> Self {
        self.realloc = body.to_owned();
        self
    }

    /// Imports a function, which its bodies call as `$name`.
    pub fn import(mut self, interface: &'static str, name: &'static str) -> Self {
        self.imports.push((interface, name));
        self
    }

    /// Builds it against another contract. The text must be there.
    pub fn contract(mut self, from: &str, to: &str) -> Self {
        assert!(self.wit.contains(from), "the contract has no {from:?}");
        self.wit = self.wit.replacen(from, to, 1);
        self
    }

    /// Builds it against this contract.
    pub fn written_against(mut self, contract: &str) -> Self {
        self.wit = contract.to_owned();
        self
    }

    /// Puts further WIT before the contract.
    pub fn with_package(mut self, wit: &str) -> Self {
        self.before = wit.to_owned();
        self
    }

    /// The component.
    pub fn build(&self) -> Vec<u8> {
        let mut resolve = Resolve::default();
        if !self.before.is_empty() {
            resolve.push_str("before.wit", &self.before).expect("the further package is WIT");
        }
        let package = resolve.push_str("contract.wit", &self.wit).expect("the contract is WIT");
        let world = resolve.select_world(&[package], Some(self.world)).expect("the world exists");
        let mut module = wat::parse_str(self.module(&resolve, world)).expect("the module is text");
        embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8)
            .expect("it can be embedded");
        let mut encoder = ComponentEncoder::default();
        encoder.module(&module).expect("the module fits its world").validate(true);
        encoder.encode().expect("the component can be encoded")
    }

    fn module(&self, resolve: &Resolve, world: wit_parser::WorldId) -> String {
        let world = &resolve.worlds[world];
        let mut text = String::from("(module\n");
        for (interface, name) in &self.imports {
            let (key, id) = interface_of(resolve, world.imports.iter(), interface);
            let function = &resolve.interfaces[id].functions[*name];
            let signature = resolve.wasm_signature(MANGLING.import_variant(), function);
            let import = WasmImport::Func { interface: Some(key), func: function };
            let (module, field) = resolve.wasm_import_name(MANGLING, import);
            let _ = writeln!(text, "(import {module:?} {field:?} (func ${name} {}))", types(&signature));
        }
        for (key, item) in &world.exports {
            let WorldItem::Interface { id, .. } = item else { continue };
            let interface = &resolve.interfaces[*id];
            let of = interface.name.as_deref().unwrap_or_default();
            for function in interface.functions.values() {
                self.function(&mut text, resolve, (key, of), function);
            }
        }
        let _ = write!(
            text,
            "(memory (export \"memory\") {})
             (global $heap (mut i32) (i32.const 65536))
             (func $realloc (export \"cabi_realloc\") (param i32 i32 i32 i32) (result i32) {})
             {} {})",
            self.pages,
            self.realloc,
            if self.pages > 0 { format!("(data (i32.const {ANSWER}) \"\\01\")") } else { String::new() },
            self.items
        );
        text
    }

    fn function(
        &self,
        text: &mut String,
        resolve: &Resolve,
        (key, interface): (&WorldKey, &str),
        function: &Function,
    ) {
        let signature = resolve.wasm_signature(MANGLING.export_variant(), function);
        let name = |kind| {
            resolve
                .wasm_export_name(MANGLING, WasmExport::Func { interface: Some(key), func: function, kind })
        };
        let full = format!("{interface}.{}", function.name);
        let body = self.bodies.iter().find(|(named, _)| *named == function.name || *named == full);
        let body = body.map_or("unreachable", |(_, body)| body);
        let export = name(WasmExportKind::Normal);
        let _ = writeln!(text, "(func ${full} (export {export:?}) {} {body})", types(&signature));
        if !self.after_return.is_empty() {
            let export = name(WasmExportKind::PostReturn);
            let _ = writeln!(text, "(func (export {export:?}) (param i32) {})", self.after_return);
        }
    }
}

/// The interface of this name among the imports or exports of a world.
fn interface_of<'a>(
    resolve: &Resolve,
    items: impl Iterator<Item = (&'a WorldKey, &'a WorldItem)>,
    name: &str,
) -> (&'a WorldKey, InterfaceId) {
    let named = |item: &WorldItem| match item {
        WorldItem::Interface { id, .. } if resolve.interfaces[*id].name.as_deref() == Some(name) => Some(*id),
        _ => None,
    };
    let mut found = items.filter_map(|(key, item)| Some((key, named(item)?)));
    found.next().unwrap_or_else(|| panic!("the world has no interface {name}"))
}

fn types(signature: &WasmSignature) -> String {
    let list = |word: &str, types: &[WasmType]| {
        let types: String = types.iter().map(|ty| format!(" {}", type_name(*ty))).collect();
        if types.is_empty() { String::new() } else { format!("({word}{types})") }
    };
    format!("{} {}", list("param", &signature.params), list("result", &signature.results))
}

fn type_name(ty: WasmType) -> &'static str {
    match ty {
        WasmType::I32 | WasmType::Pointer | WasmType::Length => "i32",
        WasmType::I64 | WasmType::PointerOrI64 => "i64",
        WasmType::F32 => "f32",
        WasmType::F64 => "f64",
    }
}
