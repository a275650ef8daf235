//! The log of `dev`: a line for each event, with its time, its category, and its object.

use anstyle::{AnsiColor, Style};

use operator_schema::dev::{Change, Event};

use crate::{dev::DevEvent, diagnostic::is_unprintable};

/// Formats an event as lines, with colors.
pub fn lines(at: &jiff::Zoned, event: &DevEvent) -> Vec<String> {
    let time = at.strftime("%H:%M:%S%.3f").to_string();
    let (word, style, texts) = describe(event);
    let grey = AnsiColor::BrightBlack.on_default();
    let line = |text: String| {
        let text = plain(&text);
        format!("{grey}{time}{grey:#} {style}{word:<9}{style:#} {text}")
    };
    texts.into_iter().map(line).collect()
}

/// Replaces what cannot be printed, so that the text stays on one line and cannot control the terminal.
fn plain(text: &str) -> String {
    text.trim_end().replace(is_unprintable, " ")
}

/// The help for a rejected request or a hot loop, which is printed once.
pub fn help(event: &DevEvent) -> Option<String> {
    let (request, refusal) = match event {
        DevEvent::Cluster(Event::Request(request)) => match &request.refusal {
            Some(refusal) => (request, refusal),
            None => return None,
        },
        DevEvent::HotLoop { .. } => {
            return Some(
                "help: a reconciliation must not make a change that triggers the next one, such as a status with the current time, a list whose order varies, or a child with a random value"
                    .into(),
            );
        }
        _ => return None,
    };
    match (request.code, request.verb.as_str()) {
        // a `403` without this word means that the namespace is being deleted
        (403, _) if refusal.contains(" cannot ") => Some(format!(
            "help: the operator's role does not permit this: {}",
            request.permission
        )),
        (404, "list" | "watch") => Some(
            "help: the server does not have this kind; install its CRD with --apply FILE".into(),
        ),
        _ => None,
    }
}

/// A line's parts: its category, the style of that, and the texts of the lines.
type Parts = (&'static str, Style, Vec<String>);

/// The category of an event, the style of its label, and the texts of the lines.
fn describe(event: &DevEvent) -> Parts {
    let color = |color: AnsiColor| color.on_default();
    let bold = Style::new().bold();
    let warned = color(AnsiColor::Yellow).bold();
    let (good, bad) = (color(AnsiColor::Green), color(AnsiColor::Red).bold());
    let one = |text: String| vec![text];
    match event {
        DevEvent::Cluster(event) => of_cluster(event),
        DevEvent::Context(context) => (
            "cluster",
            bold,
            one(format!(
                "the context {context} of your kubeconfig, once the code is built"
            )),
        ),
        DevEvent::Building => ("build", bold, one("cargo build".into())),
        DevEvent::Built(took) => (
            "build",
            good,
            one(format!("done in {:.1} s", took.as_secs_f64())),
        ),
        DevEvent::BuildFailed(why) => {
            let why = if why.is_empty() {
                String::new()
            } else {
                format!(", {why}")
            };
            (
                "build",
                bad,
                one(format!(
                    "failed{why}; the previous build, if any, keeps running, and the next change starts another build"
                )),
            )
        }
        DevEvent::Unchanged => (
            "build",
            bold,
            one("nothing has changed for the operator".into()),
        ),
        DevEvent::Started(id) => ("operator", good, one(format!("started, process {id}"))),
        DevEvent::StartManually {
            environment,
            file,
            unset,
        } => {
            let mut texts = one("not started; start it yourself, for example in a debugger, with".into());
            let set = environment
                .iter()
                .map(|(name, value)| format!("  {name}={value}"));
            texts.extend(set);
            texts.extend(unset.iter().map(|name| format!("  and without {name}")));
            texts.push(format!("these variables are in {}", file.display()));
            ("operator", bold, texts)
        }
        DevEvent::HotLoop { objects, requests } => {
            let each = |(what, rate): &(String, u32)| format!("{what} ({rate}/s)");
            let all = |of: &[(String, u32)]| of.iter().map(each).collect::<Vec<_>>().join(", ");
            let mut text = match objects.as_slice() {
                [] => "requests repeat endlessly".to_owned(),
                objects => format!("reconciled endlessly: {}", all(objects)),
            };
            if !requests.is_empty() {
                text += &format!("; its requests: {}", all(requests));
            }
            ("hot loop", warned, one(text + "; these lines are not shown"))
        }
        DevEvent::Exited(how) => (
            "operator",
            bad,
            one(format!("ended, {how}; it starts again when a source file has changed")),
        ),
        DevEvent::Stale => (
            "stale",
            warned,
            one(
                "the generated code does not match operator.toml and crds/: run cargo operator regenerate"
                    .into(),
            ),
        ),
        DevEvent::Invalid(why) => ("wrong", bad, one(why.clone())),
        DevEvent::Reconciled { object, took } => {
            ("reconcile", good, one(format!("{object} in {took}")))
        }
        DevEvent::Log {
            level,
            object,
            text,
        } => {
            let style = match level.as_str() {
                "ERROR" => bad,
                "WARN" => warned,
                _ => Style::new(),
            };
            let parts = [level.as_str(), object.as_str(), text.as_str()];
            let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
            ("log", style, one(parts.join(" ")))
        }
    }
}

/// Describes an event of the API server, like [`describe`].
fn of_cluster(event: &Event) -> Parts {
    let color = |color: AnsiColor| color.on_default();
    let bold = Style::new().bold();
    let warned = color(AnsiColor::Yellow).bold();
    let bad = color(AnsiColor::Red).bold();
    let one = |text: String| vec![text];
    match event {
        Event::Serving {
            url,
            context: Some(context),
            ..
        } => (
            "cluster",
            bold,
            one(format!(
                "{url}, the context {context} of your kubeconfig, with your permissions"
            )),
        ),
        Event::Serving {
            url, kubeconfig, ..
        } => {
            let mut texts = one(format!("an API server in memory, at {url}"));
            let path = kubeconfig.iter().map(|path| path.display().to_string());
            texts.extend(path.map(|path| format!("kubectl --kubeconfig {path} get events")));
            ("cluster", bold, texts)
        }
        Event::Applied(path) => ("applied", bold, one(path.clone())),
        Event::ApplyFailed(path, why) => ("refused", bad, one(format!("{path}: {why}"))),
        Event::AlreadyDeployed {
            name,
            pauses: false,
        } => (
            "cluster",
            warned,
            one(format!(
                "the Deployment {name}/{name} is also there: two operators reconcile the same objects; --take-over pauses the deployed one"
            )),
        ),
        Event::AlreadyDeployed { name, pauses: true } => (
            "cluster",
            bold,
            one(format!(
                "the operator of the Deployment {name}/{name} pauses as long as this one runs"
            )),
        ),
        Event::SamplesWait => (
            "samples",
            bold,
            one("applied when the operator serves its webhooks".into()),
        ),
        Event::ForeignWebhooks(url) => of_foreign_webhooks(url.as_deref()),
        Event::ForeignConversions { url, crds } => {
            of_foreign_conversions(url.as_deref(), &crds.join(", "))
        }
        Event::Invalid(why) => ("wrong", bad, one(why.clone())),
        Event::WatchFailed(kind, why) => (
            "unseen",
            warned,
            one(format!("objects of kind {kind} can't be watched: {why}")),
        ),
        Event::Request(request) => {
            let (text, code) = (&request.text, request.code);
            let text = match &request.refusal {
                Some(refusal) => format!("{text} {code}: {refusal}"),
                None => format!("{text} {code}"),
            };
            let style = match request.code {
                ..400 => color(AnsiColor::Blue),
                404 | 409 => color(AnsiColor::Yellow),
                _ => bad,
            };
            ("request", style, one(text))
        }
        Event::Object { object, change } => changed(object, change),
        Event::Event { object, kind, text } => {
            let style = if kind == "Normal" {
                color(AnsiColor::Cyan)
            } else {
                warned
            };
            ("event", style, one(format!("{object} {kind} {text}")))
        }
    }
}

/// Webhooks in a cluster that this program did not start.
fn of_foreign_webhooks(url: Option<&str>) -> Parts {
    let bold = Style::new().bold();
    let warned = AnsiColor::Yellow.on_default().bold();
    let one = |text: String| vec![text];
    match url {
        None => (
            "webhooks",
            warned,
            one(
                "the cluster cannot call the webhooks of an operator on this machine, so none is installed; --webhook-url URL names an address at which it can"
                    .into(),
            ),
        ),
        Some(url) => (
            "webhooks",
            bold,
            one(format!(
                "the operator directs them to {url}; kubectl apply -f manifests/webhook/validating.yaml (and mutating.yaml) installs them, and they refuse requests when the session has ended, until you delete them"
            )),
        ),
    }
}

/// Conversion webhooks in a cluster that this program did not start.
fn of_foreign_conversions(url: Option<&str>, crds: &str) -> Parts {
    let bold = Style::new().bold();
    let warned = AnsiColor::Yellow.on_default().bold();
    let one = |text: String| vec![text];
    match url {
        None => (
            "webhooks",
            warned,
            one(format!(
                "the cluster cannot call the operator on this machine to convert objects of {crds}: a request in another version than the stored one loses fields; --webhook-url URL names an address at which it can"
            )),
        ),
        Some(url) => (
            "webhooks",
            bold,
            one(format!(
                "objects of {crds} are converted at {url}; when the session has ended, requests in another version than the stored one fail until an operator in the cluster, or another session, converts them"
            )),
        ),
    }
}

fn changed(object: &str, change: &Change) -> (&'static str, Style, Vec<String>) {
    let magenta = AnsiColor::Magenta.on_default();
    let text = |what: String| vec![format!("{object} {what}")];
    match change {
        Change::Created => ("object", magenta, text("created".into())),
        Change::Fields(fields) => ("object", magenta, text(fields.join(", "))),
        Change::Deleting(finalizers) if finalizers.is_empty() => {
            ("object", magenta, text("is being deleted".into()))
        }
        Change::Deleting(finalizers) => (
            "object",
            magenta,
            text(format!(
                "is being deleted, and waits for {}",
                finalizers.join(", ")
            )),
        ),
        Change::Deleted => ("object", magenta, text("deleted".into())),
        Change::Condition {
            kind,
            status,
            reason,
            message,
        } => {
            let style = match status.as_str() {
                "True" => AnsiColor::Green.on_default(),
                _ => AnsiColor::Yellow.on_default(),
            };
            let why = [reason.as_str(), message.as_str()];
            let why: Vec<&str> = why.into_iter().filter(|it| !it.is_empty()).collect();
            let why = why.join(": ");
            (
                "condition",
                style,
                text(format!("{kind}={status} {why}").trim_end().to_owned()),
            )
        }
    }
}
