//! A JSON Schema checker for tests: just the keywords `fixtures/binding.schema.json` uses, so that the published schema can
//! be held against the parser. A keyword it does not know fails the test.

use regex::Regex;
use serde_json::Value;

/// The published schema.
fn published() -> Value {
    serde_json::from_str(include_str!("../../fixtures/binding.schema.json")).unwrap()
}

/// The part of the published schema at a JSON pointer.
pub(super) fn at(pointer: &str) -> Value {
    published()
        .pointer(pointer)
        .cloned()
        .unwrap_or_else(|| panic!("the schema has nothing at {pointer}"))
}

/// The names of the properties of the object schema at a JSON pointer, sorted.
pub(super) fn property_names(pointer: &str) -> Vec<String> {
    let mut names: Vec<String> = at(&format!("{pointer}/properties"))
        .as_object()
        .unwrap()
        .keys()
        .cloned()
        .collect();
    names.sort();
    names
}

/// Checks a value against the published schema; an error is the pointer of the place that does not fit.
pub(super) fn check(value: &Value) -> Result<(), String> {
    let root = published();
    check_at(&root, &root, value, "")
}

fn check_at(root: &Value, schema: &Value, value: &Value, place: &str) -> Result<(), String> {
    let fits = |holds: bool| if holds { Ok(()) } else { Err(place.to_owned()) };
    let number = |keyword: &Value| keyword.as_u64().unwrap();
    let length = |list: &Value| list.as_array().map_or(u64::MAX, |items| items.len() as u64);

    for (keyword, rule) in schema.as_object().unwrap() {
        match keyword.as_str() {
            "$schema" | "$defs" | "title" | "description" | "default" => {}
            "$ref" => {
                let target = rule.as_str().unwrap().trim_start_matches('#');
                check_at(root, root.pointer(target).unwrap(), value, place)?;
            }
            "type" => fits(match rule.as_str().unwrap() {
                "object" => value.is_object(),
                "array" => value.is_array(),
                "string" => value.is_string(),
                "integer" => value.is_i64() || value.is_u64(),
                other => panic!("type {other}"),
            })?,
            "const" => fits(value == rule)?,
            "enum" => fits(rule.as_array().unwrap().contains(value))?,
            "minimum" => fits(value.as_u64().is_some_and(|n| n >= number(rule)))?,
            "maximum" => fits(value.as_u64().is_some_and(|n| n <= number(rule)))?,
            "minLength" => fits(
                value
                    .as_str()
                    .is_some_and(|s| s.chars().count() as u64 >= number(rule)),
            )?,
            "maxLength" => fits(
                value
                    .as_str()
                    .is_some_and(|s| s.chars().count() as u64 <= number(rule)),
            )?,
            "pattern" => {
                let pattern = Regex::new(rule.as_str().unwrap()).unwrap();
                fits(value.as_str().is_some_and(|s| pattern.is_match(s)))?;
            }
            "minItems" => fits(length(value) >= number(rule))?,
            "required" => {
                for key in rule.as_array().unwrap() {
                    fits(value.get(key.as_str().unwrap()).is_some())?;
                }
            }
            "items" => {
                for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                    check_at(root, rule, item, &format!("{place}/{index}"))?;
                }
            }
            "properties" => {
                for (key, property) in rule.as_object().unwrap() {
                    if let Some(item) = value.get(key) {
                        check_at(root, property, item, &format!("{place}/{key}"))?;
                    }
                }
            }
            "additionalProperties" => {
                let known = &schema["properties"];
                fits(
                    value
                        .as_object()
                        .is_some_and(|object| object.keys().all(|key| known.get(key).is_some())),
                )?;
            }
            other => panic!("the checker does not know {other}"),
        }
    }
    Ok(())
}
