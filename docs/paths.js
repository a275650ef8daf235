// For the book: shows above a code block the file that it is, which the page names after the language (```rust src/lib.rs).
for (const code of document.querySelectorAll("pre > code")) {
  const file = [...code.classList].find((name) => /^[\w./-]+\.\w+$/.test(name));
  if (file) {
    const caption = document.createElement("div");
    caption.append(document.createElement("code"));
    caption.firstChild.textContent = file;
    code.closest("pre").before(caption);
  }
}
