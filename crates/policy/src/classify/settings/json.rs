//! Settings in JSON, as it is and as editors write it.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use super::SettingsReader;
use crate::classify::json::{Comments, plain_json};

impl SettingsReader {
    /// Reads JSON, with the comments and trailing commas that editors allow.
    pub(super) fn json(&mut self, text: &str) -> Option<()> {
        let text = plain_json(text, Comments::Allowed)?;
        if text.trim().is_empty() {
            return Some(());
        }
        let mut json = serde_json::Deserializer::from_str(&text);
        (&mut *self).deserialize(&mut json).and_then(|()| json.end()).ok()
    }
}

impl<'de> DeserializeSeed<'de> for &mut SettingsReader {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for &mut SettingsReader {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        self.open_table();
        while let Some(key) = map.next_key::<String>()? {
            self.enter(&key);
            map.next_value_seed(&mut *self)?;
            self.leave();
        }
        self.close_table();
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<(), A::Error> {
        self.open_list();
        while sequence.next_element_seed(&mut *self)?.is_some() {}
        self.close_list();
        Ok(())
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        self.value(text);
        Ok(())
    }

    fn visit_bool<E>(self, value: bool) -> Result<(), E> {
        self.other_value(&value);
        Ok(())
    }

    fn visit_i64<E>(self, value: i64) -> Result<(), E> {
        self.other_value(&value);
        Ok(())
    }

    fn visit_u64<E>(self, value: u64) -> Result<(), E> {
        self.other_value(&value);
        Ok(())
    }

    fn visit_f64<E>(self, value: f64) -> Result<(), E> {
        // With a point, as what it is: no integer.
        self.other_value(&format_args!("{value:?}"));
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        self.other_value(&"null");
        Ok(())
    }
}
