//! The macro that makes a table of `sandbox.toml` from its rows: what is done to each key alike comes from its row.

/// Makes, from one row for each key, the struct that holds the settings of a table, and all that is done to each alike: its
/// row of the schema, reading it from a file or from a flag, merging it and showing it.
///
/// No row can leave out `trust`: whether a project's file may set the key is never decided by a default.
///
/// An `entry` is replaced as a whole by a stronger layer; in a `table` each setting is.
macro_rules! settings {
    (@common $(#[$about:meta])* $name:ident at $prefix:literal {
        $($key:ident: $value:ty as $form:ty = {
            doc: $doc:literal,
            trust: $trust:expr,
            $($field:ident: $given:expr),* $(,)?
        })*
    }) => {
        $(#[$about])*
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct $name {
            $(#[doc = $doc] pub $key: $crate::config::setting::Setting<$value>,)*
        }

        impl $name {
            /// The row of each key.
            pub(crate) const KEYS: &'static [$crate::config::key::Key] = &[$($crate::config::key::Key {
                path: concat!($prefix, stringify!($key)),
                kind: <$form as $crate::config::form::ValueForm>::KIND,
                doc: $doc,
                trust: $trust,
                $($field: $given,)*
                ..$crate::config::key::Key::NONE
            },)*];

            /// Reads the table from a file.
            pub(crate) fn read(
                reader: &mut $crate::config::document::DocumentReader<'_, '_>,
                section: &$crate::config::document::Section<'_, '_>,
                base: &$crate::config::setting::PathBase,
            ) -> Self {
                use $crate::config::form::ValueForm;
                Self { $($key: <$form>::read(reader, section, stringify!($key), base),)* }
            }

            /// Shows every setting.
            pub(crate) fn show(&self, rows: &mut $crate::config::show::Rows, table: &str) {
                $(rows.setting(table, stringify!($key), self.$key.as_ref());)*
            }
        }
    };
    ($(#[$about:meta])* entry $name:ident at $prefix:literal {
        $($key:ident: $value:ty as $form:ty = { $($row:tt)* })*
    }) => {
        settings! { @common $(#[$about])* $name at $prefix { $($key: $value as $form = { $($row)* })* } }

        impl $name {
            /// Returns whether every key is there without which the rest means nothing.
            pub(crate) fn is_complete(&self) -> bool {
                let is_needed = |name| {
                    let is_always = |key: &&Key| key.required && key.unless.is_none();
                    Self::KEYS.iter().filter(is_always).any(|key| key.path.ends_with(name))
                };
                $((self.$key.is_some() || !is_needed(concat!(".", stringify!($key)))))&&*
            }
        }
    };
    ($(#[$about:meta])* table $name:ident at $prefix:literal {
        $($key:ident: $value:ty as $form:ty = { $($row:tt)* })*
    }) => {
        settings! { @common $(#[$about])* $name at $prefix { $($key: $value as $form = { $($row)* })* } }

        impl $name {
            /// Merges these settings over those beneath.
            pub(crate) fn over(self, beneath: Self) -> Self {
                Self { $($key: self.$key.or(beneath.$key),)* }
            }

            /// Sets one key from a flag or a variable.
            pub(crate) fn set(
                &mut self,
                name: &str,
                typed: &$crate::config::form::Typed<'_>,
                problems: &mut Vec<$crate::config::problem::Problem>,
            ) {
                use $crate::config::form::ValueForm;
                match name {
                    $(stringify!($key) => self.$key = <$form>::typed(typed, problems),)*
                    _ => {}
                }
            }
        }
    };
}

pub(super) use settings;
