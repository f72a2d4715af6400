//! Limits on the contents of a component, counted before it is compiled: compiling costs no fuel, so only the amount of code
//! bounds it. Compiles nothing, and validates nothing: the compiler does that.
//!
//! The bounds are two to four times what a whole JavaScript or Python interpreter has, so a component that passes compiles in a
//! small multiple of their time, and in a few hundred MiB. `nested_instances.rs` counts instances.

use wasmparser::{
    BinaryReaderError, BlockType, CanonicalFunction, ComponentTypeRef, Encoding, FunctionBody, Operator,
    Parser, Payload, TypeRef,
};

use crate::nested_instances::InstanceCounter;

/// Code of a component, in bytes: interpreters have up to 9 MiB.
const CODE_BYTES: usize = 24 << 20;

/// Code of one function, in bytes: in interpreters up to 420 KiB.
const FUNCTION_BYTES: usize = 1 << 20;

/// Functions of a component: interpreters have some 13,000.
const FUNCTIONS: u64 = 50_000;

/// Places in a function where its ways meet, times its variables, summed over all functions. The compiler follows each
/// variable through each such place; interpreters have up to 7.3 million.
const MEETINGS: u64 = 15_000_000;

/// The same in one function, whose cost grows faster than its size: interpreters have up to 400,000. One of 270 KiB with 11 million took
/// 44 s of processor time.
const FUNCTION_MEETINGS: u64 = 1_600_000;

/// The same for loops alone, which cost it more: each loop counts once for each loop around it and itself, since a variable
/// that is live in it is live around them all, and so does each branch back to a loop. Interpreters have up to 1.0 million. A
/// component of 300 KiB with a thousand million, in loops 2,000 deep, took 77 s of processor time and 2 GiB; at the bound it is
/// some 13 s.
const LOOP_MEETINGS: u64 = 3_000_000;

/// Results of a function, and values that a block takes or leaves: a few bytes name a type, and each use of it is as many values to the
/// compiler. What tools make has one result, and blocks that take none.
const VALUES: usize = 16;

/// Parameters of functions, summed over all of them: each is a move in the code by which the host enters a function. A component of 61 KiB
/// with a million took 40 s of processor time, and became 27 MB.
const PARAMETERS: u64 = 250_000;

/// Targets of tables of branches, summed over all functions: each carries up to [`VALUES`] values.
const BRANCH_TARGETS: u64 = 1_250_000;

/// Why a component is not compiled.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum LimitViolation {
    /// See [`CODE_BYTES`].
    #[error("its functions have more than {CODE_BYTES} bytes of code")]
    Code,
    /// See [`FUNCTION_BYTES`].
    #[error("one of its functions has {0} bytes of code, at most {FUNCTION_BYTES} are compiled")]
    Function(usize),
    /// See [`FUNCTIONS`].
    #[error("it has more than {FUNCTIONS} functions")]
    Functions,
    /// See [`MEETINGS`], [`FUNCTION_MEETINGS`] and [`LOOP_MEETINGS`].
    #[error("its functions have too many variables in too many branches and loops")]
    Branches,
    /// See [`VALUES`].
    #[error(
        "one of its functions or blocks has {0} results or parameters of a block, at most {VALUES} are compiled"
    )]
    Values(usize),
    /// See [`PARAMETERS`].
    #[error("its functions have more than {PARAMETERS} parameters together")]
    Parameters,
    /// Few components instantiate one another to many.
    #[error("the components in it unfold to more than {} instances", crate::nested_instances::INSTANCES)]
    Instances,
    /// The number of instances cannot be computed beforehand.
    #[error("it passes a component to a component, so the number of instances is unknown")]
    HigherOrder,
    /// Each is an entry in a table of the host, which no limit of memory sees.
    #[error("it creates resources, which use memory of the host and serve no decision")]
    Resources,
    /// It cannot be read.
    #[error("it cannot be read: {0}")]
    Malformed(String),
}

impl From<BinaryReaderError> for LimitViolation {
    fn from(error: BinaryReaderError) -> Self {
        Self::Malformed(error.message().to_owned())
    }
}

/// The functions of the module that is read: how many parameters each type has, then the type of each whose body is still to come.
#[derive(Default)]
struct ModuleFunctions {
    params_by_type: Vec<usize>,
    types: Vec<u32>,
    bodies: usize,
}

/// What a branch leads to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BranchTarget {
    /// Its beginning.
    Loop,
    /// The end of a block, or of the function.
    Other,
}

/// The ways through a function, as its body is read.
struct FunctionFlow {
    variables: u64,
    meetings: u64,
    /// The innermost last.
    blocks: Vec<BranchTarget>,
    /// How many of them are loops.
    loops: u64,
}

impl FunctionFlow {
    /// Takes the next operator, and gives its meetings in loops.
    fn follow(&mut self, operator: &Operator<'_>) -> Result<u64, LimitViolation> {
        let mut in_loops = 0;
        let mut meets = true;
        match operator {
            Operator::Loop { .. } => {
                self.blocks.push(BranchTarget::Loop);
                self.loops += 1;
                in_loops = self.loops;
            }
            Operator::Block { .. } | Operator::If { .. } => self.blocks.push(BranchTarget::Other),
            Operator::Else => {}
            Operator::BrIf { relative_depth } => in_loops = self.back(*relative_depth),
            Operator::Br { relative_depth } => {
                meets = false;
                in_loops = self.back(*relative_depth);
            }
            Operator::BrTable { targets } => {
                meets = false;
                for target in targets.targets().chain([Ok(targets.default())]) {
                    in_loops += self.back(target?);
                }
            }
            Operator::End => {
                meets = false;
                self.loops -= u64::from(self.blocks.pop() == Some(BranchTarget::Loop));
            }
            _ => meets = false,
        }
        if meets {
            self.meetings = self.meetings.saturating_add(self.variables);
        }
        Ok(self.variables.saturating_mul(in_loops))
    }

    /// 1 if a branch leads back to a loop.
    fn back(&self, depth: u32) -> u64 {
        let place = (depth as usize).checked_add(1).and_then(|depth| self.blocks.len().checked_sub(depth));
        u64::from(place.and_then(|place| self.blocks.get(place)) == Some(&BranchTarget::Loop))
    }
}

/// What was counted so far.
#[derive(Default)]
struct ComponentCounts {
    code_bytes: usize,
    functions: u64,
    parameters: u64,
    meetings: u64,
    loop_meetings: u64,
    branch_targets: u64,
}

/// Holds a component to the bounds.
pub(crate) fn check(bytes: &[u8]) -> Result<(), LimitViolation> {
    let mut count = ComponentCounts::default();
    let mut module = ModuleFunctions::default();
    let mut unfolding = InstanceCounter::default();
    for payload in Parser::new(0).parse_all(bytes) {
        match payload? {
            Payload::Version { encoding, .. } => {
                // A module has no modules in it, so one at a time is enough.
                module = ModuleFunctions::default();
                unfolding.begin(encoding == Encoding::Component);
            }
            Payload::End(_) => unfolding.end(),
            Payload::TypeSection(types) => {
                for ty in types.into_iter_err_on_gc_types() {
                    let ty = ty?;
                    at_most_values(ty.results().len())?;
                    module.params_by_type.push(ty.params().len());
                }
            }
            Payload::FunctionSection(functions) => {
                module.types = functions.into_iter().collect::<Result<_, _>>()?;
                module.types.iter().try_for_each(|ty| count.parameters(&module, *ty))?;
            }
            Payload::ImportSection(imports) => {
                for import in imports.into_imports() {
                    if let TypeRef::Func(ty) | TypeRef::FuncExact(ty) = import?.ty {
                        count.parameters(&module, ty)?;
                    }
                }
            }
            Payload::CodeSectionEntry(body) => {
                let params = module.next_params();
                count.function(&body, params, &module.params_by_type)?;
            }
            Payload::ComponentCanonicalSection(functions) => {
                for function in functions {
                    if let CanonicalFunction::ResourceNew { .. } = function? {
                        return Err(LimitViolation::Resources);
                    }
                }
            }
            Payload::ComponentImportSection(imports) => {
                for import in imports {
                    if let ComponentTypeRef::Component(_) = import?.ty {
                        return Err(LimitViolation::HigherOrder);
                    }
                }
            }
            Payload::ComponentExportSection(exports) => {
                exports.into_iter().try_for_each(|export| unfolding.export(&export?))?;
            }
            Payload::ComponentAliasSection(aliases) => {
                aliases.into_iter().try_for_each(|alias| unfolding.alias(&alias?))?;
            }
            Payload::ComponentInstanceSection(instances) => {
                instances.into_iter().try_for_each(|instance| unfolding.instance(&instance?))?;
            }
            _ => {}
        }
    }
    Ok(())
}

fn at_most_values(values: usize) -> Result<(), LimitViolation> {
    if values > VALUES { Err(LimitViolation::Values(values)) } else { Ok(()) }
}

impl ModuleFunctions {
    /// How many parameters the next function with a body has.
    fn next_params(&mut self) -> usize {
        let ty = self.types.get(self.bodies).copied().unwrap_or_default();
        self.bodies += 1;
        self.params_by_type.get(ty as usize).copied().unwrap_or_default()
    }
}

impl ComponentCounts {
    /// Counts those of one more function of this type.
    fn parameters(&mut self, module: &ModuleFunctions, ty: u32) -> Result<(), LimitViolation> {
        let more = module.params_by_type.get(ty as usize).copied().unwrap_or_default();
        self.parameters = self.parameters.saturating_add(more as u64);
        if self.parameters > PARAMETERS { Err(LimitViolation::Parameters) } else { Ok(()) }
    }

    fn function(
        &mut self,
        body: &FunctionBody<'_>,
        params: usize,
        params_by_type: &[usize],
    ) -> Result<(), LimitViolation> {
        let bytes = body.range().len();
        self.code_bytes = self.code_bytes.saturating_add(bytes);
        self.functions += 1;
        if bytes > FUNCTION_BYTES {
            return Err(LimitViolation::Function(bytes));
        }
        if self.code_bytes > CODE_BYTES {
            return Err(LimitViolation::Code);
        }
        if self.functions > FUNCTIONS {
            return Err(LimitViolation::Functions);
        }
        let mut variables = params as u64;
        for locals in body.get_locals_reader()? {
            variables = variables.saturating_add(u64::from(locals?.0));
        }
        let mut ways = FunctionFlow { variables, meetings: 0, blocks: vec![BranchTarget::Other], loops: 0 };
        for operator in body.get_operators_reader()? {
            let operator = operator?;
            if let Operator::Block { blockty } | Operator::Loop { blockty } | Operator::If { blockty } =
                operator
                && let BlockType::FuncType(ty) = blockty
            {
                at_most_values(params_by_type.get(ty as usize).copied().unwrap_or_default())?;
            }
            if let Operator::BrTable { targets } = &operator {
                self.branch_targets = self.branch_targets.saturating_add(u64::from(targets.len()));
                if self.branch_targets > BRANCH_TARGETS {
                    return Err(LimitViolation::Branches);
                }
            }
            let in_loops = ways.follow(&operator)?;
            self.loop_meetings = self.loop_meetings.saturating_add(in_loops);
            let meetings = self.meetings.saturating_add(ways.meetings);
            if meetings > MEETINGS || ways.meetings > FUNCTION_MEETINGS || self.loop_meetings > LOOP_MEETINGS
            {
                return Err(LimitViolation::Branches);
            }
        }
        self.meetings = self.meetings.saturating_add(ways.meetings);
        Ok(())
    }
}
