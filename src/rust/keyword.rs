//! The keywords of Rust.

/// Strict and reserved keywords of edition 2024 (<https://doc.rust-lang.org/reference/keywords.html>).
const KEYWORDS: [&str; 53] = [
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate",
    "do", "dyn", "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl",
    "in", "let", "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref",
    "return", "self", "static", "struct", "super", "trait", "true", "try", "type", "typeof",
    "unsafe", "unsized", "use", "virtual", "where", "while", "yield", "Self", "_",
];

pub fn is_keyword(word: &str) -> bool {
    KEYWORDS.contains(&word)
}
