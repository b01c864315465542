//! A task of a batch, as a line of JSON describes it. Everything that is wrong with a line is found at once.

use std::collections::BTreeMap;

use policy::config::key::ValueKind;
use policy::config::schema::KEYS as CONFIG_KEYS;
use policy::text::json_object::{self, Fields, Mistake};
use policy::text::suggest::did_you_mean;
use sandbox::batch::Retries;
use serde_json::Value;

/// A task.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct BatchTask {
    pub(super) id: String,
    /// The command and its arguments; none where the configuration says what runs.
    pub(super) command: Vec<String>,
    pub(super) config: Option<String>,
    pub(super) provider: Option<String>,
    pub(super) timeout: Option<String>,
    pub(super) env: BTreeMap<String, String>,
    pub(super) volumes: Vec<String>,
    pub(super) group: Option<String>,
    pub(super) retries: Retries,
}

/// What a task may say.
const KEYS: [&str; 10] =
    ["id", "command", "config", "provider", "timeout", "env", "volumes", "group", "retries", "retry_on"];

/// What decides where a task runs and what it gets.
const WIDENING: [&str; 3] = ["config", "provider", "volumes"];

/// What a line may look like.
const EXAMPLE: &str = r#"{"id": "a", "command": ["make", "test"]}"#;

/// The most retries of a task.
const MAX_RETRIES: u64 = 100;

/// The longest id of a task, in bytes.
const MAX_ID: usize = 256;

/// A task, or what is wrong with its line and the id that it has all the same.
pub(super) type Parsed = Result<BatchTask, (Option<String>, Vec<Mistake>)>;

impl BatchTask {
    /// Reads one line. In a list that is not the caller's, for a reason that is given, a task says what runs, and not where or with what.
    pub(super) fn parse(line: &[u8], distrusted: Option<&str>) -> Parsed {
        let mut task = Self::default();
        let mut fields = json_object::read(line, EXAMPLE, &mut |key, value, fields| {
            if let Some(why) = distrusted.filter(|_| WIDENING.contains(&key)) {
                fields
                    .add(Mistake::new(format!("`{key}` is not for this list to say: {why}")).hint(
                        "type it as a flag of `batch`, keep the list elsewhere, or pass --trust-tasks",
                    ));
            }
            task.set(key, value, fields);
        })
        .map_err(|mistake| (None, vec![mistake]))?;
        if !fields.has("id") {
            fields.add(
                Mistake::new("`id` is missing")
                    .hint("it names the task in the output, and is different for each"),
            );
        }
        if !task.retries.exit_codes.is_empty() && task.retries.most == 0 {
            fields.add(
                Mistake::new("`retry_on` has no effect without `retries`")
                    .hint("`\"retries\": 1` allows one"),
            );
        }
        let mistakes = fields.into_mistakes();
        if mistakes.is_empty() { Ok(task) } else { Err(((!task.id.is_empty()).then_some(task.id), mistakes)) }
    }

    fn set(&mut self, key: &str, value: Value, fields: &mut Fields) {
        match key {
            "id" => {
                self.id = fields.text(key, value).unwrap_or_default();
                if self.id.len() > MAX_ID {
                    fields.wrong(format!("`id` is longer than {MAX_ID} bytes"));
                }
            }
            "command" => self.command = fields.argument_list(key, value).unwrap_or_default(),
            "config" => self.config = fields.argument(key, value),
            "provider" => self.provider = provider(value, fields),
            "timeout" => self.timeout = fields.timeout("timeout", value),
            "env" => self.env = fields.variables("env", value),
            "volumes" => self.volumes = fields.argument_list(key, value).unwrap_or_default(),
            "group" => self.group = fields.text(key, value),
            "retries" => {
                self.retries.most = fields.number(key, &value, 0, MAX_RETRIES).unwrap_or_default();
            }
            "retry_on" => self.retries.exit_codes = fields.exit_codes("retry_on", value),
            unknown => fields.unknown(unknown, "a task", &KEYS),
        }
    }
}

/// Reads a provider.
fn provider(value: Value, fields: &mut Fields) -> Option<String> {
    let text = fields.text("provider", value)?;
    let providers = providers();
    if providers.contains(&text.as_str()) {
        return Some(text);
    }
    let known = format!("there are {}", providers.join(", "));
    let hint = did_you_mean(&text, providers.iter().copied()).unwrap_or(known);
    fields.add(Mistake::new(format!("there is no provider `{text}`")).hint(hint));
    None
}

/// Returns what `provider` may be: what the key of that name may be.
fn providers() -> &'static [&'static str] {
    let words = CONFIG_KEYS.iter().find_map(|key| match key.kind {
        ValueKind::Choice(words) if key.path == "provider" => Some(words),
        _ => None,
    });
    words.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn mistakes(line: &str) -> Vec<String> {
        let (_, mistakes) = BatchTask::parse(line.as_bytes(), None).unwrap_err();
        mistakes.into_iter().map(|mistake| mistake.message).collect()
    }

    #[test]
    fn reads_everything_that_a_task_may_say() {
        let line = r#"{"id": "a", "command": ["sh", "-c", "exit 3"], "config": "c.toml", "provider": "native",
            "timeout": "30s", "env": {"A": "b=c"}, "volumes": ["./a:/workspace"], "group": "g",
            "retries": 2, "retry_on": [3]}"#;
        let task = BatchTask::parse(line.as_bytes(), None).unwrap();
        let text = |text: &str| text.to_owned();
        let expected = BatchTask {
            id: text("a"),
            command: vec![text("sh"), text("-c"), text("exit 3")],
            config: Some(text("c.toml")),
            provider: Some(text("native")),
            timeout: Some(text("30s")),
            env: BTreeMap::from([(text("A"), text("b=c"))]),
            volumes: vec![text("./a:/workspace")],
            group: Some(text("g")),
            retries: Retries { most: 2, exit_codes: BTreeSet::from([3]) },
        };
        assert_eq!(task, expected);
    }

    #[test]
    fn finds_everything_that_is_wrong_with_a_line_at_once() {
        let line = r#"{"comand": ["x"], "provider": "natve", "timeout": "soon", "env": {"A=": "", "B": 1}, "retries": -1}"#;
        let (id, found) = BatchTask::parse(line.as_bytes(), None).unwrap_err();
        assert_eq!(id, None);
        assert_eq!(found.len(), 7, "{found:#?}");
        assert_eq!(found[0].message, "unknown key `comand`");
        assert_eq!(found[0].hint.as_deref(), Some("did you mean \"command\"?"));
        assert_eq!(found[1].hint.as_deref(), Some("did you mean \"native\"?"));
    }

    #[test]
    fn a_member_that_is_there_twice_is_not_chosen_from() {
        assert_eq!(mistakes(r#"{"id": "a", "id": "b"}"#), ["`id` is there twice"]);
    }

    #[test]
    fn says_where_a_line_stops_being_json() {
        let (_, found) = BatchTask::parse(br#"{"id": "a", }"#, None).unwrap_err();
        assert_eq!(found[0].column, Some(13));
        assert_eq!(found[0].message, "not JSON: trailing comma");
        let (_, found) = BatchTask::parse(b"{\"id\": \"\xff\"}", None).unwrap_err();
        assert_eq!(found[0], Mistake { column: Some(9), ..Mistake::new("not UTF-8, as JSON must be") });
        for line in ["[1]", "3", "\"a\"", "x"] {
            assert_eq!(mistakes(line), ["not a JSON object"]);
        }
        assert_eq!(mistakes(r#"{"id": "a"} {"id": "b"}"#), ["not JSON: trailing characters"]);
    }

    #[test]
    fn what_can_have_no_effect_is_refused() {
        assert_eq!(
            mistakes(r#"{"id": "a", "retry_on": [1]}"#),
            ["`retry_on` has no effect without `retries`"]
        );
        assert_eq!(
            mistakes(r#"{"id": "", "command": []}"#),
            ["`id` is empty", "`command` is empty; leave it out"]
        );
        assert_eq!(
            mistakes(r#"{"id": "a", "retries": 1, "retry_on": [0]}"#),
            ["`retry_on` must be a whole number from 1 to 255, and is 0"]
        );
    }

    #[test]
    fn a_list_that_is_not_the_callers_says_what_runs_alone() {
        let line = r#"{"id": "a", "command": ["x"], "provider": "local", "volumes": ["/:/x"], "config": "c", "env": {"A": "1"}}"#;
        let (_, found) = BatchTask::parse(line.as_bytes(), Some("it lies there")).unwrap_err();
        let keys: Vec<_> = found.iter().map(|mistake| mistake.message.split(' ').next().unwrap()).collect();
        assert_eq!(keys, ["`provider`", "`volumes`", "`config`"], "{found:#?}");
        assert_eq!(found[0].message, "`provider` is not for this list to say: it lies there");
        assert!(BatchTask::parse(line.as_bytes(), None).is_ok(), "the control");
    }

    #[test]
    fn a_wrong_line_keeps_its_id() {
        let (id, _) = BatchTask::parse(br#"{"id": "a", "x": 1}"#, None).unwrap_err();
        assert_eq!(id.as_deref(), Some("a"));
    }
}
