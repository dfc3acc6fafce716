//! What generated code refers to by address, under names that mean the same in every process of the same version of the library.

use std::collections::HashMap;
use std::sync::OnceLock;

use cranelift_codegen::ir::{ExternalName, GlobalValue, GlobalValueData, InstBuilder, UserExternalName, Value, types};

use super::emitter::Emitter;
use super::{lanes, shims};

/// Something of ours with an address that is known when the code is loaded.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Symbol {
    /// A function, by its place in [`Functions`].
    Function(u32),
    /// A constant table of the kernel's, by its number.
    Table(u32),
    /// [`shims::ZEROS`].
    Zeros,
}

impl Symbol {
    /// As Cranelift and artifacts name it.
    pub(super) fn name(self) -> (u32, u32) {
        match self {
            Self::Function(index) => (0, index),
            Self::Table(index) => (1, index),
            Self::Zeros => (2, 0),
        }
    }

    pub(super) fn of_name((namespace, index): (u32, u32)) -> Option<Self> {
        match (namespace, index) {
            (0, index) => Some(Self::Function(index)),
            (1, index) => Some(Self::Table(index)),
            (2, 0) => Some(Self::Zeros),
            _ => None,
        }
    }
}

/// The functions that generated code may call.
pub(super) struct Functions {
    addresses: Vec<usize>,
    /// Of functions that the linker has made one, the first.
    numbers: HashMap<usize, u32>,
}

impl Functions {
    pub(super) fn all() -> &'static Self {
        static ALL: OnceLock<Functions> = OnceLock::new();
        ALL.get_or_init(|| {
            let mut addresses = shims::all();
            addresses.extend(lanes::all());
            let mut numbers = HashMap::new();
            for (number, address) in (0..).zip(&addresses) {
                numbers.entry(*address).or_insert(number);
            }
            Self { addresses, numbers }
        })
    }

    pub(super) fn address(&self, number: u32) -> Option<usize> {
        self.addresses.get(number as usize).copied()
    }

    fn number(&self, address: usize) -> Option<u32> {
        self.numbers.get(&address).copied()
    }
}

/// The symbols that a kernel refers to so far.
#[derive(Default)]
pub(super) struct Symbols {
    values: HashMap<Symbol, GlobalValue>,
    /// A function that is not among [`Functions`] was called, so the code runs in this process only.
    pub(super) unnamed: bool,
}

impl Emitter<'_> {
    /// The address of a symbol.
    pub(super) fn symbol(&mut self, symbol: Symbol) -> Value {
        let value = match self.symbols.values.get(&symbol) {
            Some(value) => *value,
            None => {
                let (namespace, index) = symbol.name();
                let name = self.b.func.declare_imported_user_function(UserExternalName { namespace, index });
                let name = ExternalName::user(name);
                // Not colocated: a full address, wherever that is.
                let data = GlobalValueData::Symbol { name, offset: 0.into(), colocated: false, tls: false };
                let value = self.b.func.create_global_value(data);
                self.symbols.values.insert(symbol, value);
                value
            }
        };
        self.b.ins().symbol_value(types::I64, value)
    }

    /// The address of one of our functions.
    pub(super) fn function(&mut self, address: usize) -> Value {
        match Functions::all().number(address) {
            Some(number) => self.symbol(Symbol::Function(number)),
            None => {
                debug_assert!(false, "a function that is not in the list of its file");
                self.symbols.unnamed = true;
                self.long(address as i64)
            }
        }
    }
}
