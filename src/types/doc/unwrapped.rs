/// Returns the description as it is in the CRD. In the doc comment, a line that begins with a space
/// continues the line before it, and characters that would be markup are escaped.
fn unwrapped(doc: &str) -> String {
    let mut description = String::with_capacity(doc.len());
    let mut is_code = false;
    let mut chars = doc.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\n' if chars.next_if_eq(&' ').is_some() => description.push(' '),
            '\\' if !is_code => description.extend(chars.next()),
            '<' | '>' if !is_code => {}
            _ => {
                is_code ^= c == '`';
                description.push(c);
            }
        }
    }
    description
}
