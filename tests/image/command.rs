//! Runs the command with a cargo that compiles nothing: it copies a small ELF file.

#![cfg(unix)]

use std::{
    collections::BTreeMap,
    fs,
    io::Read,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use base64::Engine;
use serde_json::Value;
use tempfile::TempDir;

use crate::registry::{Auth, PASSWORD, Registry, Settings, USER, digest};

/// A fake cargo. `cargo metadata` calls the real one; a build prints messages like those of cargo.
const CARGO: &str = r#"#!/bin/sh
case "$1" in
  metadata) RUSTC=$REAL_RUSTC exec "$REAL_CARGO" "$@" ;;
esac
echo "$@" >>"$FAKE/builds"
env | grep -E 'RUSTFLAGS|STRIP|EPOCH' >>"$FAKE/builds"
[ ! -e "$FAKE/fails" ] || { echo "error: it does not compile" >&2; exit 101; }
while [ $# -gt 0 ]; do
  case "$1" in --target) target=$2 ;; esac
  shift
done
program=$FAKE/$target/release/widget
mkdir -p "$(dirname "$program")"
cp "$FAKE/$target.elf" "$program"
kind='{"kind":["bin"],"crate_types":["bin"],"name":"widget","src_path":"/a","edition":"2024","doctest":false,"test":false,"doc":false}'
profile='{"opt_level":"3","debuginfo":0,"debug_assertions":false,"overflow_checks":false,"test":false}'
id=$(sed -n 's/.*"id":"\([^"]*\)".*/\1/p' "$FAKE/id")
echo '{"reason":"compiler-artifact","package_id":"'"$id"'","manifest_path":"/a","target":'"$kind"',"profile":'"$profile"',"features":[],"filenames":["'"$program"'"],"executable":"'"$program"'","fresh":false}'
"#;

const RUSTC: &str = r#"#!/bin/sh
[ ! -e "$FAKE/no-toolchain" ] || { echo "error: toolchain is not installed" >&2; exit 1; }
case "$*" in
  *target-libdir*) [ -e "$FAKE/no-$4" ] && echo "$FAKE/missing" || echo "$FAKE" ;;
  *sysroot*) echo /sysroot ;;
  *) printf 'rustc 1.95.0\ncommit-hash: abc\n' ;;
esac
"#;

/// A folder with a project `p` and the fake programs.
struct Fake(TempDir);

/// The smallest file that the command accepts as a static program for a machine.
fn elf(machine: u8) -> Vec<u8> {
    let mut bytes = vec![0; 64];
    bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
    bytes[0x12] = machine;
    bytes
}

fn write_program(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

impl Fake {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let fake = Self(folder);
        let init = Command::new(env!("CARGO_BIN_EXE_cargo-operator"))
            .args(
                "operator init p --name widget --kind Widget --group example.com --runtime version"
                    .split(' '),
            )
            .current_dir(fake.path(""))
            .output()
            .unwrap();
        assert!(init.status.success(), "{init:?}");
        // a package without dependencies needs no registry
        let manifest = "[package]\nname = \"widget\"\nversion = \"0.1.0\"\nedition = \"2024\"\nlicense = \"MIT\"\n\n[workspace]\n";
        fs::write(fake.path("p/Cargo.toml"), manifest).unwrap();
        fs::write(
            fake.path("p/Cargo.lock"),
            "version = 4\n\n[[package]]\nname = \"widget\"\nversion = \"0.1.0\"\n",
        )
        .unwrap();
        for name in ["bin", "home"] {
            fs::create_dir(fake.path(name)).unwrap();
        }
        write_program(&fake.path("bin/cargo"), CARGO);
        write_program(&fake.path("bin/rustc"), RUSTC);
        write_program(&fake.path("bin/cargo-zigbuild"), "");
        fs::write(fake.path("x86_64-unknown-linux-musl.elf"), elf(62)).unwrap();
        fs::write(fake.path("aarch64-unknown-linux-musl.elf"), elf(183)).unwrap();
        let metadata = Command::new(env!("CARGO"))
            .args(["metadata", "--no-deps", "--format-version=1"])
            .current_dir(fake.path("p"))
            .output()
            .unwrap();
        let metadata: Value = serde_json::from_slice(&metadata.stdout).unwrap();
        let id = format!("{{\"id\":{}}}", metadata["packages"][0]["id"]);
        fs::write(fake.path("id"), id).unwrap();
        fake
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn run(&self, args: &str, environment: &[(&str, &str)]) -> Output {
        let real_rustc = Path::new(env!("CARGO")).with_file_name("rustc");
        Command::new(env!("CARGO_BIN_EXE_cargo-operator"))
            .args(["operator", "image"])
            .args(args.split_whitespace())
            .current_dir(self.path("p"))
            .env_clear()
            .env(
                "PATH",
                format!("{}:/usr/bin:/bin", self.path("bin").display()),
            )
            .env("HOME", self.path("home"))
            .env("CARGO", self.path("bin/cargo"))
            .env("CARGO_HOME", self.path("home"))
            .env("FAKE", self.0.path())
            .env("REAL_CARGO", env!("CARGO"))
            .env("REAL_RUSTC", real_rustc)
            .envs(environment.iter().copied())
            .output()
            .unwrap()
    }

    fn ok(&self, args: &str) -> String {
        let output = self.run(args, &[]);
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        assert!(output.status.success(), "{args}\n{}", text(&output.stderr));
        text(&output.stdout)
    }

    /// The standard error of a run that must fail.
    fn fails(&self, args: &str, environment: &[(&str, &str)]) -> String {
        let output = self.run(args, environment);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{args}\n{text}");
        text
    }

    /// The arguments and variables of the builds so far.
    fn builds(&self) -> String {
        fs::read_to_string(self.path("builds")).unwrap_or_default()
    }
}

/// The files in an archive.
fn files(archive: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut archive = tar::Archive::new(fs::File::open(archive).unwrap());
    let mut files = BTreeMap::new();
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        let mut bytes = vec![];
        entry.read_to_end(&mut bytes).unwrap();
        files.insert(entry.path().unwrap().display().to_string(), bytes);
    }
    files
}

#[test]
fn an_archive_has_all_blobs_under_their_digests() {
    let fake = Fake::new();
    let text = fake.ok("--tag localhost/me/widget:1.0 --platform linux/arm64,linux/amd64");
    let archive = fake.path("p/target/image/widget.tar");
    let files_of_archive = files(&archive);
    let json = |path: &str| -> Value { serde_json::from_slice(&files_of_archive[path]).unwrap() };
    for (path, bytes) in &files_of_archive {
        if let Some(hex) = path
            .strip_prefix("blobs/sha256/")
            .filter(|hex| !hex.is_empty())
        {
            assert_eq!(digest(bytes), format!("sha256:{hex}"));
        }
    }
    let blob = |digest: &Value| {
        json(&format!(
            "blobs/{}",
            digest.as_str().unwrap().replace(':', "/")
        ))
    };
    assert_eq!(json("oci-layout")["imageLayoutVersion"], "1.0.0");
    let layout = json("index.json");
    let [image, first, second] = layout["manifests"].as_array().unwrap().as_slice() else {
        panic!("{layout}");
    };
    assert_eq!(
        image["annotations"]["org.opencontainers.image.ref.name"],
        "1.0"
    );
    assert!(
        text.contains(&format!(
            "localhost/me/widget:1.0@{}",
            image["digest"].as_str().unwrap()
        )),
        "{text}"
    );
    let index = blob(&image["digest"]);
    let architectures: Vec<&Value> = index["manifests"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["platform"]["architecture"])
        .collect();
    assert_eq!(architectures, ["amd64", "arm64"]);
    for (sbom, manifest) in [first, second]
        .into_iter()
        .zip(index["manifests"].as_array().unwrap())
    {
        let artifact = blob(&sbom["digest"]);
        assert_eq!(artifact["subject"]["digest"], manifest["digest"]);
        let document = blob(&artifact["layers"][0]["digest"]);
        assert_eq!(document["packages"][0]["name"], "widget");
        assert_eq!(document["packages"][0]["licenseDeclared"], "MIT");
    }
    let docker = json("manifest.json");
    assert_eq!(docker[0]["RepoTags"][0], "localhost/me/widget:1.0");
    blob(&Value::from(
        docker[0]["Config"]
            .as_str()
            .unwrap()
            .replace("blobs/", "")
            .replace('/', ":"),
    ));

    // a second run writes the same archive
    let before = fs::read(&archive).unwrap();
    fake.ok("--tag localhost/me/widget:1.0 --platform linux/amd64,linux/arm64,linux/arm64");
    assert!(before == fs::read(&archive).unwrap(), "the archive differs");
    let mode = fs::metadata(&archive).unwrap().permissions().mode();
    assert_eq!(mode & 0o444, 0o444, "others cannot read it");
    // a folder has the same files
    fake.ok("--tag localhost/me/widget:1.0 --platform linux/amd64,linux/arm64 --output a/layout --format oci-layout");
    for (path, bytes) in files_of_archive
        .iter()
        .filter(|(path, _)| !path.ends_with('/') && *path != "manifest.json")
    {
        assert!(
            fs::read(fake.path("p/a/layout").join(path)).unwrap() == *bytes,
            "{path}"
        );
    }
    assert_eq!(
        fs::read_dir(fake.path("p/a")).unwrap().count(),
        1,
        "temporary files remain"
    );
}

#[test]
fn the_binary_has_no_path_of_this_machine() {
    let fake = Fake::new();
    fake.ok("--tag a:1 --platform linux/amd64");
    let builds = fake.builds();
    assert!(
        builds.starts_with(
            "zigbuild --release --locked --bin widget --target x86_64-unknown-linux-musl "
        ),
        "{builds}"
    );
    let of =
        |name: &str, to: &str| format!("--remap-path-prefix={}={to}", fake.path(name).display());
    for flag in [
        of("p", "/build"),
        of("p/target", "/target"),
        of("home", "/cargo"),
        "--remap-path-prefix=/sysroot/lib/rustlib/src/rust=/rustc/abc".into(),
    ] {
        assert!(builds.contains(&format!("{flag:?}")), "{flag}: {builds}");
    }
    assert!(
        builds.contains("CARGO_PROFILE_RELEASE_STRIP=symbols"),
        "{builds}"
    );
    assert!(builds.contains("SOURCE_DATE_EPOCH=0"), "{builds}");

    // flags in the environment have precedence over all others, so they get ours
    let output = fake.run(
        "--tag a:1 --platform linux/amd64",
        &[("RUSTFLAGS", "-C  target-cpu=native")],
    );
    assert!(output.status.success());
    let flags = format!(
        "CARGO_ENCODED_RUSTFLAGS=-C\u{1f}target-cpu=native\u{1f}{}",
        of("p", "/build")
    );
    assert!(fake.builds().contains(&flags), "{}", fake.builds());
}

#[test]
fn the_name_is_that_of_operator_toml() {
    let fake = Fake::new();
    let error = fake.fails("", &[]);
    assert!(error.contains("the image has no name"), "{error}");
    let state = fs::read_to_string(fake.path("p/operator.toml")).unwrap();
    let old = format!("localhost:5000/me/widget:2@sha256:{}", "0".repeat(64));
    let image = format!("image = \"{old}\"\n");
    fs::write(
        fake.path("p/operator.toml"),
        state.replacen("\n\n", &format!("\n{image}\n"), 1),
    )
    .unwrap();
    let text = fake.ok("--platform linux/amd64");
    assert!(
        text.contains("localhost:5000/me/widget:2@sha256:") && !text.contains(&old),
        "{text}"
    );
}

#[test]
fn credentials_come_from_docker_and_its_helpers() {
    let fake = Fake::new();
    let registry = Registry::start(Settings {
        auth: Auth::Token,
        ..Settings::default()
    });
    let address = &registry.address;
    let args = format!("--tag {address}/me/widget:1.0 --platform linux/amd64 --push");
    let docker = fake.path("docker");
    fs::create_dir(&docker).unwrap();
    let docker_config = docker.display().to_string();
    let environment = [("DOCKER_CONFIG", docker_config.as_str())];
    let error = fake.fails(&args, &environment);
    assert!(error.contains("docker login"), "{error}");
    assert_eq!(fake.builds(), "", "it was built before it was checked");

    for config in [
        r#"{"credsStore": "test"}"#.to_owned(),
        format!(r#"{{"credHelpers": {{"{address}": "test"}}}}"#),
    ] {
        fs::write(docker.join("config.json"), config).unwrap();
        let helper = fake.path("bin/docker-credential-test");
        write_program(
            &helper,
            "#!/bin/sh\nread -r registry; echo credentials not found in native keychain; exit 1\n",
        );
        assert!(fake.fails(&args, &environment).contains("401"));
        write_program(
            &helper,
            "#!/bin/sh\nread -r registry; echo the keychain is locked; exit 1\n",
        );
        let error = fake.fails(&args, &environment);
        assert!(
            error.contains("docker-credential-test: the keychain is locked"),
            "{error}"
        );
        let answer = format!(r#"{{"Username": "{USER}", "Secret": "{PASSWORD}"}}"#);
        write_program(
            &helper,
            &format!("#!/bin/sh\nread -r registry; echo '{answer}'\n"),
        );
        let output = fake.run(&args, &environment);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        assert!(
            text.contains(&format!(
                "next: cargo operator gen-manifests --image {address}/me/widget:1.0@sha256:"
            )),
            "{text}"
        );
    }
    // --push alone writes no file
    assert!(!fake.path("p/target/image").exists());
    fs::write(docker.join("config.json"), "{").unwrap();
    let error = fake.fails(&args, &environment);
    assert!(
        error.contains("the credentials for") && error.contains("can't be read"),
        "{error}"
    );
}

/// Only Linux has all addresses that start with 127.
#[cfg(target_os = "linux")]
#[test]
fn a_registry_with_tls_cannot_leave_it() {
    let fake = Fake::new();
    let (registry, certificate) = Registry::start_with_tls(Settings::default());
    let address = &registry.address;
    fs::write(fake.path("certificate.pem"), certificate).unwrap();
    let auth = base64::prelude::BASE64_STANDARD.encode(format!("{USER}:{PASSWORD}"));
    let config = format!(r#"{{"auths": {{"{address}": {{"auth": "{auth}"}}}}}}"#);
    fs::write(fake.path("config.json"), config).unwrap();
    let certificate = fake.path("certificate.pem").display().to_string();
    let environment = [
        ("SSL_CERT_FILE", certificate.as_str()),
        ("DOCKER_CONFIG", fake.0.path().to_str().unwrap()),
    ];
    let args = format!("--tag {address}/me/widget:1.0 --platform linux/amd64 --push");

    let plain = Registry::start(Settings::default());
    registry.set(Settings {
        uploads_to: Some(plain.address.clone()),
        ..Settings::default()
    });
    let error = fake.fails(&args, &environment);
    assert!(plain.blobs().is_empty(), "a blob was sent in clear text");
    assert!(
        error.contains(&format!(
            "{address} wants a blob to be uploaded to http://{}, which is not encrypted",
            plain.address
        )),
        "{error}"
    );

    let realm = format!("http://{}/token", plain.address);
    registry.set(Settings {
        auth: Auth::Token,
        realm: Some(realm.leak()),
        ..Settings::default()
    });
    let error = fake.fails(&args, &environment);
    assert!(plain.authorizations().is_empty(), "a password was sent");
    assert!(error.contains("/token, which is not encrypted"), "{error}");

    registry.set(Settings {
        auth: Auth::Basic,
        ..Settings::default()
    });
    let output = fake.run(&args, &environment);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{error}");
}

#[test]
fn wrong_input_has_a_cure_and_writes_nothing() {
    let fake = Fake::new();
    fs::create_dir_all(fake.path("p/full/inside")).unwrap();
    let epoch = [("SOURCE_DATE_EPOCH", "today")];
    for (args, environment, words) in [
        (
            "--tag a --platform linux/s390x",
            &[][..],
            ["invalid value 'linux/s390x'", "linux/amd64, linux/arm64"],
        ),
        (
            "--tag A",
            &[],
            ["\"A\" is no name of an image", "write NAME[:TAG]"],
        ),
        (
            "--tag a@sha256:0000000000000000000000000000000000000000000000000000000000000000",
            &[],
            ["has a digest", "write NAME:TAG"],
        ),
        (
            "--tag a --format oci-layout",
            &[],
            ["--output <PATH>", "required"],
        ),
        (
            "--tag a --output full",
            &[],
            ["full is a folder", "--format oci-layout"],
        ),
        (
            "--tag a --output Cargo.toml/image.tar",
            &[],
            [
                "Cargo.toml/image.tar can't be written",
                "make the folder writable",
            ],
        ),
        (
            "--tag 127.0.0.1:1/a:1 --push",
            &[],
            ["127.0.0.1:1 can't be reached", "refused"],
        ),
        (
            "--tag a --output full --format oci-layout",
            &[],
            ["full exists already", "delete it"],
        ),
        (
            "--tag a",
            &epoch,
            ["SOURCE_DATE_EPOCH is \"today\"", "git log -1"],
        ),
    ] {
        let error = fake.fails(args, environment);
        for word in words {
            assert!(error.contains(word), "{args}: {error}");
        }
    }
    assert_eq!(fake.builds(), "", "it was built before it was checked");

    let both = "--tag a --platform linux/amd64,linux/arm64";
    fs::write(fake.path("no-aarch64-unknown-linux-musl"), "").unwrap();
    let error = fake.fails(both, &[]);
    assert!(
        error.contains("target aarch64-unknown-linux-musl is not installed"),
        "{error}"
    );
    assert!(
        error.contains("rustup target add aarch64-unknown-linux-musl"),
        "{error}"
    );
    fs::remove_file(fake.path("no-aarch64-unknown-linux-musl")).unwrap();

    fs::write(fake.path("no-toolchain"), "").unwrap();
    let error = fake.fails(both, &[]);
    assert!(
        error.contains("rustc failed: error: toolchain is not installed"),
        "{error}"
    );
    fs::remove_file(fake.path("no-toolchain")).unwrap();

    fs::remove_file(fake.path("bin/cargo-zigbuild")).unwrap();
    let (foreign, variable) = match std::env::consts::ARCH {
        "x86_64" => (
            "linux/arm64",
            "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_LINKER",
        ),
        _ => (
            "linux/amd64",
            "CARGO_TARGET_X86_64_UNKNOWN_LINUX_MUSL_LINKER",
        ),
    };
    let error = fake.fails(both, &[]);
    assert!(
        error.contains(&format!("nothing can link for {foreign}")),
        "{error}"
    );
    assert!(
        error.contains(variable) && error.contains("pip install cargo-zigbuild"),
        "{error}"
    );
    assert_eq!(fake.builds(), "", "it was built before it was checked");
    let linker = [(variable, "lld")];
    let output = fake.run(both, &linker);
    assert!(output.status.success(), "{output:?}");
    assert!(fake.builds().starts_with("build --release"));
    fs::remove_file(fake.path("p/target/image/widget.tar")).unwrap();

    fs::write(fake.path("fails"), "").unwrap();
    let error = fake.fails(both, &linker);
    assert!(error.contains("it does not compile"), "{error}");
    assert!(
        error.contains("cargo did not build `widget` for x86_64-unknown-linux-musl"),
        "{error}"
    );
    fs::remove_file(fake.path("fails")).unwrap();

    fs::write(fake.path("aarch64-unknown-linux-musl.elf"), elf(62)).unwrap();
    let error = fake.fails(both, &linker);
    assert!(
        error.contains("for the machine 62 of ELF, not for linux/arm64"),
        "{error}"
    );
    assert!(!fake.path("p/target/image/widget.tar").exists());
}
