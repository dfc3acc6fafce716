//! Errors as text for people and as JSON for programs.

use std::fmt::{self, Write as _};

use compute_trust::{About, Answers, DriverCode, Error, Location, Report, Skip};
use serde_json::{Map, Value, json};

use super::object::Object;
use crate::capi::library::status_text;

/// What was asked and what came of it, then why, newest first, down to the root.
pub(super) fn text(object: &Object) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = write_object(&mut text, object);
    text
}

fn write_object(to: &mut String, object: &Object) -> fmt::Result {
    let status = object.status();
    write!(to, "{} ({status}): {}", status_text(status), object.message().trim_end().replace('\n', "\n  "))?;
    if let (Some(error), None) = (object.error(), object.report()) {
        write_details(to, error, "\n  ")?;
    }
    if object.members().is_empty() {
        if let Some(report) = object.report() {
            write_report(to, report, "\n  ")?;
        }
    } else {
        for (index, member) in object.members().iter().enumerate() {
            write!(to, "\n  {}. failure {}, which still claims {}:", index + 1, member.failure, buffers(member.buffers))?;
            write_report(to, member, "\n     ")?;
        }
        if let Some(report) = object.report().filter(|report| report.dropped_members > 0) {
            write!(to, "\n  and {} more, which were not kept", report.dropped_members)?;
        }
    }
    write_advice(to, object.answers())
}

/// The chain of one failure, newest first, and its root.
fn write_report(to: &mut String, report: &Report, line: &str) -> fmt::Result {
    for skip in &report.chain {
        write!(to, "{line}because {} ", subject(&skip.about))?;
        write!(to, "{} ", if skip.used { "used bytes of" } else { "was skipped: it needed" })?;
        write!(to, "buffer {}", named(&skip.needed.label, skip.needed.id))?;
    }
    if report.dropped > 0 {
        write!(to, "{line}({} older of {} skipped operations were not kept)", report.dropped, report.skips_total)?;
    }
    let status = report.root.code;
    write!(to, "{line}because of {} ({status}): {}", status_text(status), report.root.message.trim_end().replace('\n', line))?;
    write_details(to, &report.root, line)
}

fn write_details(to: &mut String, error: &Error, line: &str) -> fmt::Result {
    if let Some(about) = &error.about {
        write!(to, "{line}in {}", subject(about))?;
    }
    if let Some(Location { line: row, column }) = error.location {
        write!(to, "{line}at line {row}, column {column} of the kernel's source")?;
    }
    if let Some(DriverCode { code, name }) = &error.driver {
        write!(to, "{line}the driver says {name} ({code})")?;
    }
    Ok(())
}

fn write_advice(to: &mut String, answers: Answers) -> fmt::Result {
    let advice = [
        (answers.refusal, "This can never work here: drop the kernel or configuration."),
        (answers.poisoned, "Drop the device."),
        (answers.reclaimable, "Could succeed after memory is released."),
    ];
    advice.iter().filter(|(given, _)| *given).try_for_each(|(_, advice)| write!(to, "\n  {advice}"))
}

/// "kernel `blur` \"second pass\" (operation 12, stream 3)".
fn subject(about: &About) -> String {
    let label = if about.label.is_empty() { String::new() } else { format!(" \"{}\"", about.label) };
    let stream = if about.stream == 0 { String::new() } else { format!(", stream {}", about.stream) };
    format!("`{}`{label} (operation {}{stream})", about.kernel, about.operation)
}

fn named(label: &str, id: u64) -> String {
    if label.is_empty() { format!("{id}") } else { format!("\"{label}\" ({id})") }
}

fn buffers(count: u64) -> String {
    if count == 1 { "1 buffer".to_owned() } else { format!("{count} buffers") }
}

/// The same and more, with fixed names: see the documentation of `compute_error_format`.
pub(super) fn json(object: &Object) -> String {
    let mut map = Map::new();
    put_head(&mut map, object.status(), &object.message(), object.answers());
    if object.report().is_none()
        && let Some(error) = object.error()
    {
        put_details(&mut map, error);
    }
    if object.failure() != 0 {
        map.insert("failure".into(), json!(object.failure()));
        map.insert("untouched".into(), json!(object.untouched()));
    }
    if let Some(report) = object.report() {
        put_report(&mut map, report);
    }
    Value::Object(map).to_string()
}

fn put_head(map: &mut Map<String, Value>, status: i32, message: &str, answers: Answers) {
    map.insert("status".into(), json!(status));
    map.insert("name".into(), json!(status_text(status)));
    map.insert("message".into(), json!(message));
    let Answers { refusal, poisoned, reclaimable, skip } = answers;
    map.insert("answers".into(), json!({ "refusal": refusal, "poisoned": poisoned, "reclaimable": reclaimable, "skip": skip }));
}

fn put_details(map: &mut Map<String, Value>, error: &Error) {
    if let Some(about) = &error.about {
        map.insert("about".into(), about_json(about));
    }
    if let Some(Location { line, column }) = error.location {
        map.insert("location".into(), json!({ "line": line, "column": column }));
    }
    if !error.diagnostics.is_empty() {
        let diagnostics = error.diagnostics.iter().map(|found| {
            let Location { line, column } = found.location.unwrap_or_default();
            json!({ "message": found.message, "line": line, "column": column })
        });
        map.insert("diagnostics".into(), diagnostics.collect());
    }
    if let Some(DriverCode { code, name }) = &error.driver {
        map.insert("driver".into(), json!({ "code": code, "name": name }));
    }
}

fn put_report(map: &mut Map<String, Value>, report: &Report) {
    map.insert("claimed_buffers".into(), json!(report.buffers));
    if report.members.is_empty() {
        let entries: Vec<Value> = report.chain.iter().map(skip_json).collect();
        map.insert("chain".into(), json!({ "total": report.skips_total, "dropped": report.dropped, "entries": entries }));
        map.insert("root".into(), root_json(&report.root));
        return;
    }
    let members: Vec<Value> = report.members.iter().map(member_json).collect();
    map.insert("members".into(), Value::Array(members));
    map.insert("dropped_members".into(), json!(report.dropped_members));
}

fn member_json(member: &Report) -> Value {
    let mut map = Map::new();
    map.insert("failure".into(), json!(member.failure));
    map.insert("untouched".into(), json!(member.untouched));
    put_report(&mut map, member);
    Value::Object(map)
}

fn root_json(root: &Error) -> Value {
    let mut map = Map::new();
    put_head(&mut map, root.code, &root.message, root.answers);
    put_details(&mut map, root);
    Value::Object(map)
}

fn about_json(about: &About) -> Value {
    json!({ "kernel": &*about.kernel, "label": &*about.label, "operation": about.operation, "stream": about.stream })
}

fn skip_json(skip: &Skip) -> Value {
    let mut entry = about_json(&skip.about);
    if let Value::Object(map) = &mut entry {
        map.insert("used".into(), json!(skip.used));
        map.insert("needed".into(), json!({ "buffer": skip.needed.id, "label": &*skip.needed.label }));
    }
    entry
}
