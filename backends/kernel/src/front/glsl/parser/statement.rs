//! Statements.

use super::*;

impl Parser<'_> {
    /// `{ ... }`
    pub(super) fn compound(&mut self) -> Parsed<Vec<Statement>> {
        self.expect("{")?;
        let mut list = Vec::new();
        let level = self.level(self.at);
        // What stands before a block or an `else` was not understood.
        let mut skipped = false;
        while !self.eat("}") {
            if self.never_closed() {
                return Ok(list);
            }
            if skipped && self.eat("else") {
                continue;
            }
            let (from, blocks, brackets) = (self.at, self.blocks, self.brackets);
            match self.statement() {
                Ok(statement) => {
                    skipped &= matches!(statement.kind, StatementKind::Block(_));
                    list.push(statement);
                }
                Err(_) if self.never_closed() => return Ok(list),
                Err(wrong) if wrong.ends || self.findings.are_enough() => return Err(wrong.ending()),
                Err(wrong) => {
                    (self.blocks, self.brackets, skipped) = (blocks, brackets, true);
                    self.skip_statement(wrong, from, level);
                }
            }
        }
        Ok(list)
    }

    fn statement(&mut self) -> Parsed<Statement> {
        self.statements += 1;
        if self.statements > MAX_STATEMENTS {
            let message =
                format!("this function is too long: at most {MAX_STATEMENTS} statements and blocks are allowed; split it");
            return Err(Wrong::new(message, self.here()).ending());
        }
        self.blocks += 1;
        if self.blocks > MAX_BLOCKS {
            let message =
                format!("blocks are nested too deeply here: at most {MAX_BLOCKS} blocks and `else if`s may be inside each other");
            return Err(Wrong::new(message, self.here()).ending());
        }
        let at = self.here();
        self.attributes()?;
        let kind = self.statement_kind()?;
        self.blocks -= 1;
        Ok(Statement { kind, at: self.since(at) })
    }

    /// `[[unroll]]` and its like are hints.
    fn attributes(&mut self) -> Parsed<()> {
        while self.text(0) == "[" && self.text(1) == "[" {
            while !(self.text(0) == "]" && self.text(1) == "]") {
                if self.at >= self.tokens.len() {
                    return self.wrong("`]]`");
                }
                self.at += 1;
            }
            self.at += 2;
        }
        Ok(())
    }

    fn statement_kind(&mut self) -> Parsed<StatementKind> {
        match self.text(0) {
            "{" => Ok(StatementKind::Block(self.compound()?)),
            ";" => {
                self.at += 1;
                Ok(StatementKind::Empty)
            }
            "if" => self.selection(),
            "switch" => self.switch(),
            "case" | "default" => self.label(),
            "for" => self.for_loop(),
            "while" => {
                self.at += 1;
                self.expect("(")?;
                let condition = self.loop_condition()?;
                self.expect(")")?;
                Ok(StatementKind::While { condition, body: Box::new(self.statement()?) })
            }
            "do" => self.do_while(),
            "break" => self.jump(StatementKind::Break),
            "continue" => self.jump(StatementKind::Continue),
            "discard" => self.not_supported("`discard` statements", self.here()),
            "return" => {
                self.at += 1;
                let value = if self.text(0) == ";" { None } else { Some(self.expression()?) };
                self.semicolon()?;
                Ok(StatementKind::Return(value))
            }
            "precision" => {
                self.precision()?;
                Ok(StatementKind::Empty)
            }
            _ if self.begins_declaration() => self.declaration(),
            _ => {
                let expression = self.expression()?;
                self.semicolon()?;
                Ok(StatementKind::Expression(expression))
            }
        }
    }

    fn jump(&mut self, kind: StatementKind) -> Parsed<StatementKind> {
        self.at += 1;
        self.semicolon()?;
        Ok(kind)
    }

    fn begins_declaration(&self) -> bool {
        match self.text(0) {
            "const" | "in" | "out" | "inout" | "uniform" | "buffer" | "shared" | "layout" | "highp" | "mediump" | "lowp"
            | "precise" | "invariant" | "coherent" | "restrict" | "volatile" | "readonly" | "writeonly" | "struct" => true,
            // Two words are a declaration, whatever the first of them is.
            word if !self.is_type(0) => self.is_word(0) && self.is_word(1) && !is_keyword(word),
            // A type that is not followed by brackets with arguments declares something.
            _ => {
                let mut ahead = 1;
                let mut depth = 0u32;
                while let Some(token) = self.token(ahead) {
                    match self.names.get(token.name) {
                        "[" => depth += 1,
                        "]" if depth > 0 => depth -= 1,
                        _ if depth > 0 => {}
                        text => return text != "(",
                    }
                    ahead += 1;
                }
                true
            }
        }
    }

    fn declaration(&mut self) -> Parsed<StatementKind> {
        let qualifiers = self.qualifiers()?;
        let ty = self.type_name()?;
        if let Base::Declared(declared) = &ty.base
            && self.eat(";")
        {
            return Ok(StatementKind::Struct(Arc::clone(declared)));
        }
        Ok(StatementKind::Variables(self.variables(qualifiers, ty)?))
    }

    fn selection(&mut self) -> Parsed<StatementKind> {
        self.at += 1;
        self.expect("(")?;
        let condition = self.expression()?;
        self.expect(")")?;
        let accept = Box::new(self.statement()?);
        let reject = if self.eat("else") { Some(Box::new(self.statement()?)) } else { None };
        Ok(StatementKind::If { condition, accept, reject })
    }

    fn switch(&mut self) -> Parsed<StatementKind> {
        self.at += 1;
        self.expect("(")?;
        let selector = self.expression()?;
        self.expect(")")?;
        Ok(StatementKind::Switch { selector, body: self.compound()? })
    }

    fn label(&mut self) -> Parsed<StatementKind> {
        let default = self.eat("default");
        self.at += usize::from(!default);
        let value = if default { None } else { Some(self.conditional()?) };
        self.expect(":")?;
        Ok(StatementKind::Case(value))
    }

    fn loop_condition(&mut self) -> Parsed<Condition> {
        if !self.begins_declaration() {
            return Ok(Condition::Expression(self.expression()?));
        }
        let qualifiers = Arc::new(self.qualifiers()?);
        let ty = self.type_name()?;
        let (name, at) = self.identifier("the name of a variable")?;
        let arrays = self.dimensions()?;
        self.expect("=")?;
        let init = Some(Arc::new(self.initializer()?));
        Ok(Condition::Variable(Box::new(Variable { qualifiers, ty, name, arrays, init, at })))
    }

    fn for_loop(&mut self) -> Parsed<StatementKind> {
        self.at += 1;
        self.expect("(")?;
        let at = self.here();
        let first = if self.eat(";") {
            None
        } else if self.begins_declaration() {
            Some(self.declaration()?)
        } else {
            let expression = self.expression()?;
            self.expect(";")?;
            Some(StatementKind::Expression(expression))
        };
        let first = first.map(|kind| Box::new(Statement { kind, at: self.since(at) }));
        let condition = if self.text(0) == ";" { None } else { Some(self.loop_condition()?) };
        self.expect(";")?;
        let step = if self.text(0) == ")" { None } else { Some(self.expression()?) };
        self.expect(")")?;
        Ok(StatementKind::For { first, condition, step, body: Box::new(self.statement()?) })
    }

    fn do_while(&mut self) -> Parsed<StatementKind> {
        self.at += 1;
        let body = Box::new(self.statement()?);
        self.expect("while")?;
        self.expect("(")?;
        let condition = self.expression()?;
        self.expect(")")?;
        self.semicolon()?;
        Ok(StatementKind::DoWhile { body, condition })
    }
}
