//! Settings in TOML.

use toml::de::{DeTable, DeValue};

use super::SettingsReader;
use crate::classify::value::is_unclear;

impl SettingsReader {
    /// Reads TOML.
    pub(super) fn toml(&mut self, text: &str) -> Option<()> {
        let text = &text.replace("\r\n", "\n");
        if text.contains(is_unclear) {
            return None;
        }
        self.table(DeTable::parse(text).ok()?.get_ref());
        Some(())
    }

    fn table(&mut self, table: &DeTable<'_>) {
        self.open_table();
        for (key, value) in table {
            self.enter(key.get_ref());
            self.toml_value(value.get_ref());
            self.leave();
        }
        self.close_table();
    }

    fn toml_value(&mut self, value: &DeValue<'_>) {
        match value {
            DeValue::Table(table) => self.table(table),
            DeValue::Array(values) => {
                self.open_list();
                values.iter().for_each(|value| self.toml_value(value.get_ref()));
                self.close_list();
            }
            DeValue::String(text) => self.value(text),
            DeValue::Boolean(value) => self.other_value(value),
            DeValue::Integer(value) => self.other_value(value),
            DeValue::Float(value) => self.other_value(value),
            DeValue::Datetime(value) => self.other_value(value),
        }
    }
}
