//! The functions that write into the record. They are called where something is to be reported, and nowhere else.

use naga::{AtomicFunction, BinaryOperator, Block, Expression, Function, GlobalVariable, Handle, Span, Statement};

use super::build::{Types, Writer, function};
use super::record::{LINE_HEAD, Print, member};

/// Puts a violation into the record if it is the first of the launch. Parameters: site, low and high word of the index, length, invocation.
pub(super) fn recorder(record: Handle<GlobalVariable>, types: &Types) -> Function {
    let word = types.word;
    let mut out = function(
        "compute_violation",
        &[("site", word), ("index_low", word), ("index_high", word), ("length", word), ("invocation", types.id)],
    );
    let mut writer = Writer::new(&mut out.expressions, Span::UNDEFINED);
    let place = writer.add(Expression::GlobalVariable(record));
    let (taken, zero) = (writer.part(place, member::TAKEN), writer.word(0));
    // A look first: a kernel in which every invocation goes wrong would fight for the word.
    let seen = writer.load(taken);
    let free = writer.binary(BinaryOperator::Equal, seen, zero);
    let types = *types;
    let inside = writer.nested(|writer| {
        let (one, zero) = (writer.word(1), writer.word(0));
        let before = writer.atomic(taken, AtomicFunction::InclusiveOr, one, types.word);
        let first = writer.binary(BinaryOperator::Equal, before, zero);
        let fill = writer.nested(|writer| {
            let members = [member::SITE, member::INDEX_LOW, member::INDEX_HIGH, member::LENGTH];
            for (argument, member) in (0..).zip(members) {
                let value = writer.add(Expression::FunctionArgument(argument));
                let to = writer.part(place, member);
                writer.store(to, value);
            }
            let id = writer.add(Expression::FunctionArgument(4));
            for axis in 0..3 {
                let (to, value) = (writer.part(place, member::ID + axis), writer.part(id, axis));
                writer.store(to, value);
            }
        });
        writer.if_(first, fill, Block::new());
    });
    writer.if_(free, inside, Block::new());
    out.body = writer.block;
    out
}

/// Keeps the first violation of an invocation in a private variable. Parameters as of [`recorder`], without the invocation.
pub(super) fn keeper(kept: Handle<GlobalVariable>, types: &Types) -> Function {
    let word = types.word;
    let mut out = function("compute_keep", &[("site", word), ("index_low", word), ("index_high", word), ("length", word)]);
    let mut writer = Writer::new(&mut out.expressions, Span::UNDEFINED);
    let place = writer.add(Expression::GlobalVariable(kept));
    let site = writer.part(place, 0);
    let (site, zero) = (writer.load(site), writer.word(0));
    let free = writer.binary(BinaryOperator::Equal, site, zero);
    let ty = types.pending;
    let inside = writer.nested(|writer| {
        let components = (0..4).map(|n| writer.add(Expression::FunctionArgument(n))).collect();
        let value = writer.add(Expression::Compose { ty, components });
        writer.store(place, value);
    });
    writer.if_(free, inside, Block::new());
    out.body = writer.block;
    out
}

/// Gives the empty function of a print its body: room is asked for, and what fits is written. `before` has the parameters of the print's
/// arguments; the invocation's id follows them.
pub(super) fn printer(
    before: &Function,
    number: u32,
    print: &Print,
    record: Handle<GlobalVariable>,
    types: &Types,
    room: u32,
) -> Function {
    let mut out = Function { name: before.name.clone(), arguments: before.arguments.clone(), ..Function::default() };
    let id = u32::try_from(out.arguments.len()).unwrap_or(u32::MAX);
    out.arguments.push(naga::FunctionArgument { name: Some("invocation".into()), ty: types.id, binding: None });
    let types = *types;
    let mut writer = Writer::new(&mut out.expressions, Span::UNDEFINED);
    let place = writer.add(Expression::GlobalVariable(record));
    let words = print.words();
    let Some(latest) = room.checked_sub(words) else {
        lose(&mut writer, place, &types);
        out.body = writer.block;
        return out;
    };
    let cursor = writer.part(place, member::CURSOR);
    // A look first, so that the number cannot wrap however much is printed.
    let fits = |writer: &mut Writer<'_>, start| {
        let latest = writer.word(latest);
        writer.binary(BinaryOperator::LessEqual, start, latest)
    };
    let seen = writer.load(cursor);
    let room_left = fits(&mut writer, seen);
    let lost = |writer: &mut Writer<'_>| writer.nested(|writer| lose(writer, place, &types));
    let ask = writer.nested(|writer| {
        let count = writer.word(words);
        let start = writer.atomic(cursor, AtomicFunction::Add, count, types.word);
        let found = fits(writer, start);
        let write = writer.nested(|writer| {
            let mut line = line(writer, number, id, print);
            let lines = writer.part(place, member::LINES);
            for (offset, value) in (0..).zip(line.drain(..)) {
                let offset = writer.word(offset);
                let index = writer.binary(BinaryOperator::Add, start, offset);
                let to = writer.add(Expression::Access { base: lines, index });
                writer.store(to, value);
            }
        });
        let lost = lost(writer);
        writer.if_(found, write, lost);
    });
    let lost = lost(&mut writer);
    writer.if_(room_left, ask, lost);
    out.body = writer.block;
    out
}

/// The words of a line.
fn line(writer: &mut Writer<'_>, number: u32, id: u32, print: &Print) -> Vec<Handle<Expression>> {
    let mut words = Vec::with_capacity(LINE_HEAD as usize + print.format.arguments.len());
    words.push(writer.word(number.saturating_add(1)));
    let id = writer.add(Expression::FunctionArgument(id));
    words.extend([0, 1, 2].map(|axis| writer.part(id, axis)));
    for (position, argument) in (0..).zip(&print.format.arguments) {
        let value = writer.add(Expression::FunctionArgument(position));
        for component in 0..argument.components {
            let value = if argument.components > 1 { writer.part(value, component) } else { value };
            words.push(writer.low_word(value, argument.scalar));
            words.extend(writer.high_word(value, argument.scalar));
        }
    }
    words
}

fn lose(writer: &mut Writer<'_>, place: Handle<Expression>, types: &Types) {
    let (lost, one) = (writer.part(place, member::LOST), writer.word(1));
    let _ = types;
    writer.push(Statement::Atomic { pointer: lost, fun: AtomicFunction::Add, value: one, result: None });
}
