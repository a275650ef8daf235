//! The file beside a module that contains its large schemas.

use crate::rust::code::literal;

pub struct SchemaFile<'a> {
    name: &'a str,
    text: Option<String>,
}

impl<'a> SchemaFile<'a> {
    /// Creates a file without text, which is not written.
    pub fn new(name: &'a str) -> Self {
        Self { name, text: None }
    }

    /// Sets the JSON of the file, and returns the expression that includes it.
    pub fn put(&mut self, json: String) -> String {
        self.text = Some(json + "\n");
        format!("include_str!({})", literal(self.name))
    }

    pub fn into_text(self) -> Option<String> {
        self.text
    }
}
