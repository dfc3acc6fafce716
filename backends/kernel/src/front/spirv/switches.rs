//! OpSwitch over integers of other sizes than 32 bits, which naga does not translate: of 8 and 16 bits they are widened, of 64 bits the number of the case is
//! found by comparisons.

use super::Wrong;
use super::facts::{Facts, Type};
use super::module::{Instruction, Words};
use super::sections::{Made, Section, Sections};

/// Rewrites a module; `None` when nothing is to be done.
pub(super) fn run(words: &Words) -> Result<Option<Made>, Wrong> {
    let facts = Facts::of(words);
    let list: Vec<Instruction<'_>> = words.instructions().collect();
    if !list.iter().any(|i| i.opcode == 251 && width(&facts, i).is_some_and(|(width, _)| width != 32)) {
        return Ok(None);
    }
    let mut out = Sections::new(words);
    let at = list.iter().find(|i| i.opcode == 54).map_or(0, |i| i.at);
    let word = facts.find(&Type::Int(32, true)).unwrap_or_else(|| out.declare(at, 21, &[32, 1]));
    let truth = list.iter().find(|i| i.opcode == 20).and_then(|i| i.operand(0)).unwrap_or_else(|| out.declare(at, 20, &[]));
    let mut section = Section::Names;
    let mut selector = None;
    for (index, instruction) in list.iter().enumerate() {
        section = Sections::of(section, instruction.opcode);
        // What a switch selects by is worked out before its OpSelectionMerge, which stands directly before it.
        if let (247, Some(next)) = (instruction.opcode, list.get(index + 1).filter(|next| next.opcode == 251)) {
            selector = narrow(&facts, &mut out, next, (word, truth))?;
        }
        match selector.take_if(|_| instruction.opcode == 251) {
            Some(operands) => out.emit(section, instruction.at, 251, &operands),
            None => out.copy(section, instruction),
        }
    }
    out.finish().map(Some).map_err(|message| (message, 0))
}

/// Bits and sign of what a switch selects by.
fn width(facts: &Facts, switch: &Instruction<'_>) -> Option<(u32, bool)> {
    match facts.of_value(switch.operand(0)?)? {
        Type::Int(width, sign) => Some((*width, *sign)),
        _ => None,
    }
}

/// The operands of the same switch over 32 bits.
fn narrow(
    facts: &Facts,
    out: &mut Sections,
    switch: &Instruction<'_>,
    (word, truth): (u32, u32),
) -> Result<Option<Vec<u32>>, Wrong> {
    let wrong = || ("OpSwitch: it has the wrong operands".to_owned(), switch.at);
    let (Some((width, sign)), [selector, default, cases @ ..]) = (width(facts, switch), switch.operands()) else {
        return Ok(None);
    };
    match width {
        8 | 16 => {
            let wide = out.value(switch.at, if sign { 114 } else { 113 }, word, &[*selector]);
            Ok(Some([&[wide, *default], cases].concat()))
        }
        64 => {
            let ty = facts.values.get(selector).copied().ok_or_else(wrong)?;
            let (cases, []) = cases.as_chunks::<3>() else { return Err(wrong()) };
            let count = u32::try_from(cases.len()).map_err(|_| wrong())?;
            let mut operands = vec![0, *default];
            let mut number = out.constant(switch.at, word, &[count]);
            for (n, [low, high, target]) in (0..count).zip(cases) {
                let case = out.constant(switch.at, ty, &[*low, *high]);
                let here = out.constant(switch.at, word, &[n]);
                let equal = out.value(switch.at, 170, truth, &[*selector, case]);
                number = out.value(switch.at, 169, word, &[equal, here, number]);
                operands.extend([n, *target]);
            }
            if let Some(first) = operands.first_mut() {
                *first = number;
            }
            Ok(Some(operands))
        }
        _ => Ok(None),
    }
}
