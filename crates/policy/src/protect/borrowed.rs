//! Reading a list of protected paths: those of the built-in table are borrowed from it. There are more than a thousand, and every command
//! for a persistent sandbox reads its plan.

use std::borrow::Cow;
use std::fmt;

use serde::Deserializer;
use serde::de::{DeserializeSeed, Error, SeqAccess, Visitor};

use super::table;

/// Deserializes a list of paths.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<Cow<'static, str>>, D::Error> {
    deserializer.deserialize_seq(List)
}

struct List;

impl<'de> Visitor<'de> for List {
    type Value = Vec<Cow<'static, str>>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list of paths")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut rows = table::built_in();
        let mut paths = Vec::new();
        while let Some(path) = list.next_element_seed(Path(&mut rows))? {
            paths.push(path);
        }
        Ok(paths)
    }
}

/// One path, and the rows of the table that have not been seen in the list yet.
struct Path<'a, R>(&'a mut R);

impl<'de, R: Iterator<Item = &'static str> + Clone> DeserializeSeed<'de> for Path<'_, R> {
    type Value = Cow<'static, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<R: Iterator<Item = &'static str> + Clone> Visitor<'_> for Path<'_, R> {
    type Value = Cow<'static, str>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a path")
    }

    fn visit_str<E: Error>(self, path: &str) -> Result<Self::Value, E> {
        // A plan has them in the order of the table, and leaves out few.
        let mut ahead = self.0.clone();
        match ahead.find(|row| *row == path) {
            Some(row) => {
                *self.0 = ahead;
                Ok(Cow::Borrowed(row))
            }
            None => Ok(Cow::Owned(path.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_list_is_read_as_it_was_written_and_the_tables_is_borrowed() {
        let whole: Vec<_> = table::built_in().collect();
        let read = |list: &[&str]| {
            deserialize(&mut serde_json::Deserializer::from_str(&serde_json::to_string(list).unwrap()))
                .unwrap()
        };
        let reversed: Vec<_> = whole.iter().rev().copied().collect();
        let few: Vec<_> = whole.iter().step_by(7).copied().chain(["of the file", "a\"b", whole[0]]).collect();
        for list in [&whole[..], &reversed, &few, &[]] {
            assert_eq!(read(list), list);
        }
        let is_borrowed = |path: &Cow<'_, str>| matches!(path, Cow::Borrowed(_));
        assert!(read(&whole).iter().all(is_borrowed));
        assert!(!read(&["of the file"]).iter().any(is_borrowed), "the control");
    }

    #[test]
    fn what_is_no_path_is_refused() {
        for other in ["[1]", "{}", "[null]", "\"a\""] {
            assert!(deserialize(&mut serde_json::Deserializer::from_str(other)).is_err(), "{other}");
        }
    }
}
