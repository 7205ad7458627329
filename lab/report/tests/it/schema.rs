use report::{ReadError, Run, SCHEMA};

#[test]
fn the_published_schema_is_that_of_the_types() {
    let text = serde_json::to_string_pretty(&report::schema()).unwrap() + "\n";
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/reference/bench-result.schema.json"
    );
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        std::fs::write(path, &text).unwrap();
    }
    assert_eq!(
        std::fs::read_to_string(path).unwrap_or_default(),
        text,
        "run the test with UPDATE_SCHEMA=1"
    );
}

#[test]
fn a_run_is_read_as_it_was_written() {
    let run = Run {
        schema: SCHEMA.to_owned(),
        version: "0.1.0".to_owned(),
        command: vec!["basic".to_owned()],
        ..Run::default()
    };
    let json = run.json();
    let validator =
        jsonschema::validator_for(&serde_json::to_value(report::schema()).unwrap()).unwrap();
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert!(
        validator.is_valid(&value),
        "{:?}",
        validator.validate(&value)
    );
    assert_eq!(Run::read(&json).unwrap().json(), json);
}

#[test]
fn another_format_is_refused_by_name() {
    let error = Run::read(r#"{"schema": "hearth-load/1", "runs": []}"#).unwrap_err();
    assert!(matches!(&error, ReadError::Schema(found) if found == "hearth-load/1"));
    assert!(error.to_string().contains("hearth-bench/1"));
    assert!(
        Run::read("not json")
            .unwrap_err()
            .to_string()
            .contains("not a result of hearth bench")
    );
}
