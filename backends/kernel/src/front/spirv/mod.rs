//! SPIR-V.
use crate::diagnostics::Diagnostics;
use crate::front::glsl::Specialization;
use crate::reflection::OverrideInfo;
use crate::text::Text;

pub(crate) struct Words(Vec<u8>);
impl Words {
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}
pub(crate) struct Output {
    pub(crate) module: naga::Module,
    pub(crate) overrides: Vec<OverrideInfo>,
    pub(crate) text: Text,
}
pub(crate) fn read(bytes: &[u8]) -> Result<Words, Diagnostics> {
    Ok(Words(bytes.to_vec()))
}
pub(crate) fn translate(_: &Words, _: &Specialization) -> Result<Output, Diagnostics> {
    Err(super::refuse("not yet"))
}
