//! `image`: builds a container image of the operator, without a container engine.

use std::path::PathBuf;

use crate::{
    diagnostic::{Exit, Failure, Report},
    disk::{self, RecoveryMode},
    image::{
        self, BuildError, Built, Created, Format, Image, Output, Package, Part, Platform,
        Reference, ReferenceError, Repository,
    },
    terminal::Terminal,
    workspace::{
        open::{OpenProject, ProjectArgs},
        origin::local_runtime,
    },
};

/// Build a container image of the operator, without a container engine, and write it to a file or push it to a registry
///
/// The operator is compiled for musl, so that the image has nothing else but CA certificates. Compiling for another architecture than that
/// of this machine needs cargo-zigbuild. The same sources give the same image.
///
/// Without --output and --push, the image is written to image/NAME.tar in cargo's target folder.
#[derive(clap::Args)]
pub struct Args {
    /// The name of the image [default: `image` in operator.toml]
    #[arg(long, value_name = "NAME:TAG")]
    tag: Option<String>,
    /// The platforms of the image [default: that of this machine]
    #[arg(long, value_enum, value_delimiter = ',', value_name = "PLATFORM")]
    platform: Vec<Platform>,
    /// The file or folder to write
    #[arg(long, value_name = "PATH")]
    output: Option<PathBuf>,
    /// What to write to PATH
    #[arg(long, value_enum, default_value_t, requires = "output")]
    format: Format,
    /// Push the image to its registry, with the credentials of docker or podman
    #[arg(long)]
    push: bool,
    #[command(flatten)]
    project: ProjectArgs,
}

pub fn exec(args: Args, terminal: &Terminal) -> Result<Exit, Failure> {
    let open = OpenProject::at(&args.project, RecoveryMode::Refuse, terminal)?;
    terminal.end_progress();
    let (root, config) = (open.root.path().to_owned(), open.config.clone());
    if let Some((_, diagnostic)) = local_runtime(&config) {
        terminal.report(&[Report::of(&config.name, diagnostic, None)]);
    }
    // unlocks the project, so that other commands can run during the build
    drop(open);
    let name = match (&args.tag, &config.image) {
        (Some(tag), _) => Reference::read(tag)?,
        (None, Some(image)) => Reference::of_config(image)?,
        (None, None) => return Err(ReferenceError::Missing.into()),
    };
    let created = Created::of_environment()?;
    let package = Package::read(&root, &platforms(args.platform)?)?;
    let output = match args.output {
        Some(path) => Some(Output::new(path, args.format)?),
        None if args.push => None,
        None => {
            let path = package.target.join(format!("image/{}.tar", config.name));
            Some(Output::new(path, Format::OciArchive)?)
        }
    };
    let mut repository = if args.push {
        Some(Repository::new(&name, image::credentials(&name)?)?)
    } else {
        None
    };
    // a registry that cannot be used is reported before the build
    if let Some(repository) = &mut repository {
        terminal.working("asking the registry");
        repository.check()?;
        terminal.end_progress();
    }

    let built = image::build(&package, &config.name, created)?;
    terminal.working("assembling the image");
    let sizes: Vec<usize> = built.iter().map(|it| it.binary.len()).collect();
    let parts = built.into_iter().map(
        |Built {
             platform,
             binary,
             sbom,
         }| Part {
            platform,
            binary,
            sbom,
        },
    );
    let image = Image::new(&package.description, created, parts.collect());
    let mut text = String::new();
    for (platform, size) in image.platforms.iter().zip(sizes) {
        text += &format!(
            "{}: {} (binary {}, compressed {})\n",
            platform.platform,
            platform.manifest.descriptor.digest,
            mebibytes(size),
            mebibytes(platform.layer.bytes.len())
        );
    }
    let full_name = name.with_digest(&image.index.descriptor.digest);
    if let Some(output) = &output {
        image::write(&image, &name, created, output)?;
        text += &format!("{}: {full_name}\n", disk::shown(output.path()));
    }
    if let Some(mut repository) = repository {
        terminal.working("pushing the image");
        let pushed = repository.push(&image)?;
        let (uploaded, existing) = (pushed.uploaded, pushed.existing);
        text += &format!(
            "pushed {full_name} ({uploaded} blobs uploaded, {existing} were there)\n\
             next: cargo operator gen-manifests --image {full_name}\n"
        );
    }
    terminal.print(&text)?;
    Ok(Exit::Clean)
}

/// The platforms without duplicates, in the order in which an image lists them. By default, the platform of this machine.
fn platforms(mut platforms: Vec<Platform>) -> Result<Vec<Platform>, BuildError> {
    if platforms.is_empty() {
        let host = Platform::of_host();
        platforms.push(host.ok_or(BuildError::Host(std::env::consts::ARCH))?);
    }
    platforms.sort_unstable();
    platforms.dedup();
    Ok(platforms)
}

fn mebibytes(bytes: usize) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}
