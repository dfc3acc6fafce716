//! Reads the tables, and spells their types and numbers in WGSL.

/// A type as the tables name it.
pub(crate) struct Type(String);

pub(crate) struct Section {
    pub(crate) expression: String,
    pub(crate) arguments: Vec<Type>,
    pub(crate) result: Type,
    pub(crate) rows: Vec<Row>,
}

/// Inputs as words, one a scalar, and what each component of the result may be.
pub(crate) struct Row {
    pub(crate) inputs: Vec<u32>,
    pub(crate) outputs: Vec<Allowed>,
}

/// The least and the greatest result, as bits, and the exact value for people.
pub(crate) struct Allowed {
    low: u32,
    high: u32,
    exact: String,
}

pub(crate) fn parse(text: &str) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    for line in text.lines().filter(|l| !l.is_empty() && !l.starts_with('#')) {
        if let Some((inputs, outputs)) = line.split_once(" = ") {
            let hex = |word: &str| u32::from_str_radix(word, 16).unwrap_or_else(|_| panic!("{line}"));
            let inputs = inputs.split(' ').map(hex).collect();
            let outputs = outputs.split(", ").map(|part| match part.split(' ').collect::<Vec<_>>()[..] {
                [exact, low, high] => Allowed { low: hex(low), high: hex(high), exact: exact.into() },
                [bits] => Allowed { low: hex(bits), high: hex(bits), exact: String::new() },
                _ => panic!("{line}"),
            });
            let outputs = outputs.collect();
            sections.last_mut().expect("a section before its rows").rows.push(Row { inputs, outputs });
        } else {
            let (expression, types) = line.split_once(" : ").expect("a section");
            let (arguments, result) = types.split_once(" -> ").expect("a result");
            sections.push(Section {
                expression: expression.into(),
                arguments: arguments.split(", ").map(|t| Type(t.into())).collect(),
                result: Type(result.into()),
                rows: Vec::new(),
            });
        }
    }
    sections
}

impl Section {
    /// A function of one f32.
    pub(crate) fn of_one(expression: &str, rows: Vec<Row>) -> Self {
        Self { expression: expression.into(), arguments: vec![Type("f32".into())], result: Type("f32".into()), rows }
    }

    pub(crate) fn uses_f16(&self) -> bool {
        self.arguments.iter().chain([&self.result]).any(|t| t.scalar() == "f16")
    }

    /// The expression with a number after each argument's name.
    pub(crate) fn expression_of(&self, n: usize) -> String {
        let mut out = String::new();
        let characters: Vec<char> = self.expression.chars().collect();
        for (i, &c) in characters.iter().enumerate() {
            let letter = |at: Option<usize>| at.and_then(|i| characters.get(i)).is_some_and(|c| c.is_alphanumeric() || *c == '.');
            out.push(c);
            if "abcd".contains(c) && !letter(i.checked_sub(1)) && !characters.get(i + 1).is_some_and(|c| c.is_alphanumeric()) {
                out += &n.to_string();
            }
        }
        out
    }

    pub(crate) fn describe(&self, inputs: &[u32]) -> Vec<String> {
        let scalars = self.arguments.iter().flat_map(|t| std::iter::repeat_n(t, t.count()));
        scalars.zip(inputs).map(|(t, &bits)| t.show(bits)).collect()
    }
}

impl Allowed {
    pub(crate) fn between(low: u32, high: u32) -> Self {
        Self { low, high, exact: String::new() }
    }

    pub(crate) fn holds(&self, ty: &Type, got: u32) -> bool {
        if !ty.is_float() {
            return self.low == got;
        }
        let (low, got, high) = (ty.value(self.low), ty.value(got), ty.value(self.high));
        low <= got && got <= high
    }

    pub(crate) fn show(&self, ty: &Type) -> String {
        if self.low == self.high {
            return ty.show(self.low);
        }
        format!("in {} .. {} (exactly {})", ty.show(self.low), ty.show(self.high), self.exact)
    }
}

impl Type {
    pub(crate) fn name(&self) -> &str {
        &self.0
    }

    fn scalar(&self) -> &str {
        self.0.split(['<', '>']).nth(1).unwrap_or(&self.0)
    }

    fn is_float(&self) -> bool {
        self.scalar().starts_with('f')
    }

    /// How many scalars.
    pub(crate) fn count(&self) -> usize {
        let digit = |i: usize| self.0.as_bytes().get(i).map_or(1, |d| usize::from(d - b'0'));
        match &self.0 {
            v if v.starts_with("vec") => digit(3),
            m if m.starts_with("mat") => digit(3) * digit(5),
            _ => 1,
        }
    }

    fn of(&self, scalars: Vec<String>) -> String {
        match &scalars[..] {
            [one] => one.clone(),
            many => format!("{}({})", self.0, many.join(", ")),
        }
    }

    /// A value of the type from words of memory.
    pub(crate) fn load(&self, word: impl Fn(usize) -> String) -> String {
        let scalar = |i| match self.scalar() {
            "u32" => word(i),
            "f16" => format!("f16(unpack2x16float({}).x)", word(i)),
            other => format!("bitcast<{other}>({})", word(i)),
        };
        self.of((0..self.count()).map(scalar).collect())
    }

    /// The words of a value, one a scalar.
    pub(crate) fn store(&self, name: &str) -> Vec<String> {
        let parts = match self.count() {
            1 => vec![name.to_owned()],
            n => ["x", "y", "z", "w"][..n].iter().map(|c| format!("{name}.{c}")).collect(),
        };
        let word = |part: String| match self.scalar() {
            "u32" => part,
            "f16" => format!("pack2x16float(vec2<f32>(f32({part}), 0.0))"),
            _ => format!("bitcast<u32>({part})"),
        };
        parts.into_iter().map(word).collect()
    }

    /// A value from literals; `None` for what has none.
    pub(crate) fn literal(&self, inputs: &mut impl Iterator<Item = u32>) -> Option<String> {
        let scalars = (0..self.count()).map(|_| self.scalar_literal(inputs.next()?)).collect::<Option<Vec<_>>>()?;
        Some(self.of(scalars))
    }

    fn scalar_literal(&self, bits: u32) -> Option<String> {
        let suffix = match self.scalar() {
            "u32" => return Some(format!("{bits}u")),
            "i32" => return Some(format!("i32({})", bits as i32)),
            "f16" => "h",
            _ => "f",
        };
        let value = self.value(bits);
        if !value.is_finite() {
            return None;
        }
        // Hexadecimal literals of f16 with a fraction are refused by the front end; the shortest decimal one has the same value.
        Some(if suffix == "h" { format!("{value:?}h") } else { format!("{}{suffix}", hexadecimal(value)) })
    }

    /// The value of a float.
    fn value(&self, bits: u32) -> f64 {
        match self.scalar() {
            "f16" => half::f16::from_bits(bits as u16).to_f64(),
            _ => f32::from_bits(bits).into(),
        }
    }

    pub(crate) fn show(&self, bits: u32) -> String {
        match self.scalar() {
            "u32" => format!("{bits}u"),
            "i32" => format!("{}", bits as i32),
            _ => format!("{:e} ({bits:x})", self.value(bits)),
        }
    }
}

/// A float literal that is exact.
fn hexadecimal(value: f64) -> String {
    let bits = value.to_bits();
    let sign = if value.is_sign_negative() { "-" } else { "" };
    if value == 0.0 {
        return format!("{sign}0x0p+0");
    }
    let (exponent, fraction) = ((bits >> 52 & 0x7ff) as i64 - 1023, bits & ((1 << 52) - 1));
    format!("{sign}0x1.{fraction:013x}p{exponent:+}")
}
