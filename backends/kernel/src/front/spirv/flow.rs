//! Control flow: only what the IR can say goes on. A branch may leave the construct that it stands in, or the innermost loop or switch; naga takes a branch
//! that leaves two at once for one that leaves the inner one.

use std::collections::HashMap;

use super::Wrong;
use super::module::{Instruction, Words};

/// Constructs inside each other; as blocks in text.
const MAX_DEPTH: u32 = 96;
/// Instructions of one function.
const MAX_INSTRUCTIONS: usize = 50_000;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Selection,
    Switch,
    Loop { header: u32, next: u32 },
}

/// A construct around a block.
#[derive(Clone, Copy)]
struct Construct {
    outer: Option<usize>,
    kind: Kind,
    merge: u32,
    depth: u32,
}

#[derive(Default)]
struct Block {
    at: usize,
    merge: Option<(u32, Option<u32>)>,
    targets: Vec<u32>,
    switch: bool,
}

/// Checks every function.
pub(super) fn check(words: &Words) -> Result<(), Wrong> {
    let mut blocks: HashMap<u32, Block> = HashMap::new();
    let (mut entry, mut label, mut count) = (None, None, 0usize);
    for instruction in words.instructions() {
        count += 1;
        match (instruction.opcode, instruction.operands()) {
            (54, _) => {
                blocks.clear();
                (entry, label, count) = (None, None, 0);
            }
            (56, _) => {
                if let Some(entry) = entry {
                    Flow { blocks: &blocks, constructs: Vec::new(), seen: HashMap::new() }.run(entry)?;
                }
            }
            (248, [id]) => {
                entry.get_or_insert(*id);
                label = Some(*id);
                if blocks.insert(*id, Block { at: instruction.at, ..Block::default() }).is_some() {
                    return Err((format!("OpLabel: %{id} is there twice"), instruction.at));
                }
            }
            (246 | 247 | 249..=255, _) => {
                let Some(block) = label.and_then(|id| blocks.get_mut(&id)) else {
                    return Err(("an instruction of control flow stands outside of blocks".to_owned(), instruction.at));
                };
                block.control(&instruction)?;
                if instruction.opcode >= 249 {
                    label = None;
                }
            }
            _ => {}
        }
        if count > MAX_INSTRUCTIONS && entry.is_some() {
            return Err((
                format!("this function is too long: at most {MAX_INSTRUCTIONS} instructions are allowed"),
                instruction.at,
            ));
        }
    }
    Ok(())
}

impl Block {
    fn control(&mut self, instruction: &Instruction<'_>) -> Result<(), Wrong> {
        let wrong = || ("an instruction of control flow has the wrong operands".to_owned(), instruction.at);
        match (instruction.opcode, instruction.operands()) {
            (246, [merge, next, ..]) => self.merge = Some((*merge, Some(*next))),
            (247, [merge, ..]) => self.merge = Some((*merge, None)),
            (249, [target]) => self.targets = vec![*target],
            (250, [_, yes, no, ..]) => self.targets = vec![*yes, *no],
            (251, [_, default, cases @ ..]) if cases.len() % 2 == 0 => {
                self.switch = true;
                self.targets = std::iter::once(*default).chain(cases.iter().skip(1).step_by(2).copied()).collect();
                if self.merge.is_none_or(|(_, next)| next.is_some()) {
                    return Err(("OpSwitch: it needs an OpSelectionMerge".to_owned(), instruction.at));
                }
            }
            (252..=255, _) => {}
            _ => return Err(wrong()),
        }
        if matches!(instruction.opcode, 249..=251) {
            self.at = instruction.at;
        }
        Ok(())
    }
}

struct Flow<'a> {
    blocks: &'a HashMap<u32, Block>,
    constructs: Vec<Construct>,
    /// The construct that each block was reached in.
    seen: HashMap<u32, Option<usize>>,
}

impl Flow<'_> {
    fn run(&mut self, entry: u32) -> Result<(), Wrong> {
        let mut work: Vec<(u32, Option<usize>, usize)> = vec![(entry, None, 0)];
        while let Some((id, around, from)) = work.pop() {
            if let Some(&known) = self.seen.get(&id) {
                if known == around {
                    return Err((
                        format!("control flow joins at %{id}, which merges nothing: this structure is not supported"),
                        from,
                    ));
                }
                return Err((format!("%{id} is reached from different constructs: this structure is not supported"), from));
            }
            self.seen.insert(id, around);
            let Some(block) = self.blocks.get(&id) else { return Err((format!("%{id} is no block of this function"), from)) };
            let inside = self.enter(id, block, around, &mut work)?;
            let mut targets = block.targets.clone();
            targets.sort_unstable();
            targets.dedup();
            for target in targets {
                if !self.leaves(block, target, inside)? {
                    work.push((target, inside, block.at));
                }
            }
        }
        Ok(())
    }

    /// The construct that a block's branch stands in; its merge block comes in the one around it.
    fn enter(
        &mut self,
        id: u32,
        block: &Block,
        around: Option<usize>,
        work: &mut Vec<(u32, Option<usize>, usize)>,
    ) -> Result<Option<usize>, Wrong> {
        let Some((merge, next)) = block.merge else { return Ok(around) };
        let depth = around.and_then(|i| self.constructs.get(i)).map_or(0, |c| c.depth) + 1;
        if depth > MAX_DEPTH {
            return Err((format!("blocks are nested too deeply here: at most {MAX_DEPTH} may be inside each other"), block.at));
        }
        let kind = match next {
            Some(next) => Kind::Loop { header: id, next },
            None if block.switch => Kind::Switch,
            None => Kind::Selection,
        };
        self.constructs.push(Construct { outer: around, kind, merge, depth });
        let inside = Some(self.constructs.len() - 1);
        work.push((merge, around, block.at));
        if let Some(next) = next.filter(|next| *next != id) {
            work.push((next, inside, block.at));
        }
        Ok(inside)
    }

    /// Whether a branch goes to a block that is reached otherwise: a merge block, or the next pass of a loop.
    fn leaves(&self, block: &Block, target: u32, inside: Option<usize>) -> Result<bool, Wrong> {
        let mut at = inside;
        let (mut innermost, mut crossed_loop, mut crossed_switch) = (true, false, false);
        while let Some(construct) = at.and_then(|i| self.constructs.get(i)) {
            if target == construct.merge {
                let breaks = construct.kind != Kind::Selection && !crossed_loop && !crossed_switch;
                if innermost || breaks {
                    return Ok(true);
                }
                let what = if crossed_switch { "a switch" } else { "a construct" };
                let message =
                    format!("this branch to %{target} leaves {what} and the one around it at once, which is not supported");
                return Err((message, block.at));
            }
            if let Kind::Loop { header, next } = construct.kind
                && (target == next || target == header)
            {
                if !crossed_loop {
                    return Ok(true);
                }
                let message =
                    format!("this branch to %{target} continues a loop that is not the innermost, which is not supported");
                return Err((message, block.at));
            }
            innermost = false;
            crossed_loop |= matches!(construct.kind, Kind::Loop { .. });
            crossed_switch |= construct.kind == Kind::Switch;
            at = construct.outer;
        }
        Ok(false)
    }
}
