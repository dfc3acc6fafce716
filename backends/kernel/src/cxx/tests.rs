//! Tests of the parts.
