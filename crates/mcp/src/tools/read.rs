//! `read`: returns the text of a file, or an image or document as what it is.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rmcp::model::{Content, ResourceContents};
use sandbox::tools::{self, MAX_CHARS, Media, ReadOptions};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::arguments::within;
use super::files::{line, with_notes};
use super::row::{Effect, Row, schema, with_content};
use crate::admission::Queue;
use crate::failure::Failure;

/// The most characters that a call may ask for.
const MOST_CHARS: u64 = 1_000_000;

/// The largest image or document that is returned: clients take no larger ones.
const MOST_MEDIA_BYTES: usize = 8 << 20;

pub(super) const ROW: Row = Row {
    name: "read",
    title: "Read a file",
    description: "Reads a file in the sandbox. Text in UTF-8 is returned in parts of at most `max_chars` characters, from `offset` on; PNG, JPEG, GIF and WebP \
                  images and PDF documents are returned as what they are. Any other file is refused. What may not be read is refused with the reason and \
                  with what is allowed.",
    queue: Queue::Quick,
    effect: Effect::Reads,
    input: schema::<ReadInput>,
    output: schema::<ReadOutput>,
    wanted: None,
    run: |session, _, arguments| {
        with_content(arguments, |input: ReadInput| {
            let options = ReadOptions {
                offset: within("offset", input.offset, 0, 0..=u64::MAX)?,
                max_chars: within("max_chars", input.max_chars, MAX_CHARS, 1..=MOST_CHARS)?,
            };
            let files = session.files(input.sandbox.as_deref())?;
            let notice = files.notice;
            match files.tools.read(&input.path, options)? {
                tools::Content::Text(text) => Ok(text_output(text, notice)),
                tools::Content::Media(media) => {
                    let content = shown(&input.path, &media, notice.as_deref())?;
                    let output = ReadOutput {
                        media_type: Some(media.media_type),
                        bytes: Some(media.bytes.len()),
                        notice,
                        ..ReadOutput::default()
                    };
                    Ok((output, content))
                }
            }
        })
    },
};

fn text_output(text: tools::Text, notice: Option<String>) -> (ReadOutput, Vec<Content>) {
    let end = text.offset + text.text.chars().count();
    let note = text.truncated.then(|| {
        format!("[truncated: characters {} to {end} of {}; `offset` {end} goes on]", text.offset, text.total)
    });
    let content = with_notes(text.text.clone(), note.into_iter().chain(notice.clone()));
    let output = ReadOutput {
        text: Some(text.text),
        offset: Some(text.offset),
        total: Some(text.total),
        truncated: Some(text.truncated),
        notice,
        ..ReadOutput::default()
    };
    (output, content)
}

/// Returns an image or document as clients take it.
fn shown(path: &str, media: &Media, notice: Option<&str>) -> Result<Vec<Content>, Failure> {
    let Media { media_type, bytes } = media;
    let size = bytes.len();
    if size > MOST_MEDIA_BYTES {
        return Err(Failure::InvalidArguments(format!(
            "cannot return `{}`: {size} bytes of {media_type} are too large for a message. Maximum: {MOST_MEDIA_BYTES} bytes. Make a smaller one of it by a command",
            line(path)
        )));
    }
    let data = STANDARD.encode(bytes);
    let content = if media_type.starts_with("image/") {
        Content::image(data, *media_type)
    } else {
        Content::resource(ResourceContents::BlobResourceContents {
            uri: uri(path),
            mime_type: Some((*media_type).to_owned()),
            blob: data,
            meta: None,
        })
    };
    let mut all = with_notes(format!("[{media_type}, {size} bytes]"), notice.map(str::to_owned));
    all.push(content);
    Ok(all)
}

/// Returns the address of a file in the sandbox, which names nothing on the host.
fn uri(path: &str) -> String {
    let encoded = path.trim_start_matches('/').bytes().map(|byte| {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            char::from(byte).to_string()
        } else {
            format!("%{byte:02X}")
        }
    });
    std::iter::once("sandbox://files/".to_owned()).chain(encoded).collect()
}

/// What the tool takes.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReadInput {
    /// A path in the sandbox, from its root or relative to its working directory
    path: String,
    /// How many characters are left out at the beginning of a text: none without this
    offset: Option<u64>,
    /// How many characters of a text are returned at most: 20000 without this, and never more than 1000000
    #[schemars(range(min = 1, max = 1_000_000))]
    max_chars: Option<u64>,
    /// A sandbox of this session, by name; without it, the default one
    sandbox: Option<String>,
}

/// What the tool answers.
#[derive(Default, JsonSchema, Serialize)]
struct ReadOutput {
    /// The text; null for an image or document
    text: Option<String>,
    /// How many characters of the text come before it
    offset: Option<usize>,
    /// How many characters the whole text has
    total: Option<usize>,
    /// Whether more of the text comes after it
    truncated: Option<bool>,
    /// What an image or document is, which is in the content of the answer; null for text
    media_type: Option<&'static str>,
    /// How many bytes the image or document has
    bytes: Option<usize>,
    /// What has happened to the sandbox that one should know
    notice: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_of_a_file_has_no_character_with_a_meaning_of_its_own() {
        assert_eq!(uri("/workspace/a b?#%.pdf"), "sandbox://files/workspace/a%20b%3F%23%25.pdf");
    }

    #[test]
    fn what_is_too_large_for_a_message_is_refused() {
        let media = Media { media_type: "image/png", bytes: vec![0; MOST_MEDIA_BYTES + 1] };
        let failure = shown("large.png", &media, None).unwrap_err().to_string();
        assert!(failure.starts_with("cannot return `large.png`: 8388609 bytes of image/png"), "{failure}");
    }
}
