//! A command is killed, loses power or gets an error, at each of its operations. Then the tree is completely old or completely new, at
//! once or after the next command.

mod case;
mod faulty;
mod root;

use std::{fs, io::ErrorKind, thread, time::Duration};

use crate::diagnostic::Explain;

use super::{
    DiskError, RecoveryMode, Root,
    journal::{Direction, Journal},
    recover::{Recovery, recover_on},
};
use case::{Case, INIT, Tree, UPDATE, write};
use faulty::{Fault, Listed};

#[cfg(unix)]
const CASES: &[Case] = &[INIT, UPDATE, case::LINKS];
#[cfg(not(unix))]
const CASES: &[Case] = &[INIT, UPDATE];

const ERRORS: [ErrorKind; 2] = [ErrorKind::StorageFull, ErrorKind::PermissionDenied];

fn killed(at: usize) -> Fault {
    Fault {
        kill: Some(at),
        ..Fault::default()
    }
}

fn failing(at: usize, kind: ErrorKind) -> Fault {
    Fault {
        error: Some((at, kind)),
        ..Fault::default()
    }
}

/// Calls `test` for each operation of each case.
fn each_point(test: impl Fn(&Case, usize, &Tree, &Tree)) {
    for case in CASES {
        let (old, new) = (case.before(), case.after());
        assert_ne!(old, new);
        let points = case.acts(Fault::default());
        (0..points).for_each(|at| test(case, at, &old, &new));
        println!("{}: {points} points", case.name);
    }
}

#[test]
fn a_command_killed_at_any_operation_is_completed_by_the_next_command() {
    each_point(|case, at, old, new| {
        let place = case.place();
        let (result, _) = place.apply(case, killed(at));
        let tree = place.tree();
        let interrupted = tree.contains_key("p/.operator/journal");
        // a command that writes nothing fails
        let (refusal, device) = place.recover(RecoveryMode::Refuse, Fault::default());
        let is_refused = matches!(refusal, Err(DiskError::Interrupted { .. }));
        assert_eq!((is_refused, device.acts()), (interrupted, 0), "{at}");
        let (recovery, _) = place.recover(RecoveryMode::Finish, Fault::default());
        let tree = place.tree();
        match recovery.unwrap() {
            Some(Recovery::Finished(executed)) => {
                assert!(
                    interrupted && executed.skipped.is_empty(),
                    "{at}: {executed:?}"
                );
                assert_eq!(&tree, new, "{} {at}", case.name);
            }
            Some(Recovery::Cleared) | None if result.is_err() => {
                assert_eq!(&tree, old, "{} {at}", case.name);
            }
            _ => assert_eq!(&tree, new, "{} {at}", case.name),
        }
        assert!(
            place
                .recover(RecoveryMode::Finish, Fault::default())
                .0
                .unwrap()
                .is_none()
        );
    });
}

#[test]
fn a_power_cut_at_any_operation_is_recovered_by_the_next_command() {
    for listed in [Listed::Kept, Listed::Lost, Listed::LostElsewhere] {
        each_point(|case, at, old, new| {
            let place = case.place();
            let (result, device) = place.apply(case, killed(at));
            device.lose_power(listed);
            place
                .recover(RecoveryMode::Finish, Fault::default())
                .0
                .unwrap();
            let tree = place.tree();
            let is_whole = tree == *new || tree == *old && result.is_err();
            assert!(is_whole, "{} {at} {listed:?}: {tree:#?}", case.name);
            // and after the recovery
            let place = case.place();
            let (_, device) = place.apply(case, killed(at));
            device.heal();
            recover_on(&device, RecoveryMode::Finish).unwrap();
            let recovered = place.tree();
            device.lose_power(listed);
            place
                .recover(RecoveryMode::Finish, Fault::default())
                .0
                .unwrap();
            assert_eq!(place.tree(), recovered, "{} {at} {listed:?}", case.name);
        });
    }
}

#[test]
fn an_error_of_any_operation_rolls_everything_back() {
    for kind in ERRORS {
        each_point(|case, at, old, new| {
            let place = case.place();
            match place.apply(case, failing(at, kind)).0 {
                Err(DiskError::Write { path, source }) => {
                    assert_eq!(source.kind(), kind);
                    assert!(path.starts_with(&*place.path().to_string_lossy()), "{path}");
                    assert_eq!(&place.tree(), old, "{} {at}", case.name);
                }
                Err(error) => panic!("{} {at}: {error}", case.name),
                // the error was in the cleanup, which the next command completes
                Ok(()) => {
                    place
                        .recover(RecoveryMode::Finish, Fault::default())
                        .0
                        .unwrap();
                    assert_eq!(&place.tree(), new, "{} {at}", case.name);
                }
            }
        });
    }
}

#[test]
fn a_persistent_error_is_recovered_by_the_next_command() {
    for kind in ERRORS {
        each_point(|case, at, old, new| {
            let place = case.place();
            let lasting = Fault {
                lasting: true,
                ..failing(at, kind)
            };
            let result = place.apply(case, lasting).0;
            if matches!(result, Err(DiskError::Unfinished(_))) {
                assert!(
                    place
                        .recover(RecoveryMode::Refuse, Fault::default())
                        .0
                        .is_err(),
                    "{at}"
                );
                let recovery = place.recover(RecoveryMode::Finish, failing(0, kind)).0;
                assert!(
                    matches!(recovery, Err(DiskError::Recovery(_))),
                    "{recovery:?}"
                );
            }
            place
                .recover(RecoveryMode::Finish, Fault::default())
                .0
                .unwrap();
            let tree = place.tree();
            assert!(
                tree == *old || tree == *new,
                "{} {at}: {tree:#?}",
                case.name
            );
        });
    }
}

#[test]
fn a_kill_during_rollback_or_recovery_is_recovered_too() {
    let (old, new) = (UPDATE.before(), UPDATE.after());
    let mut points = 0;
    for at in 0..UPDATE.acts(Fault::default()) {
        let error = failing(at, ErrorKind::StorageFull);
        for kill in at + 1..UPDATE.acts(error) {
            points += 1;
            let place = UPDATE.place();
            let both = Fault {
                kill: Some(kill),
                ..error
            };
            place.apply(&UPDATE, both).0.unwrap_err();
            place
                .recover(RecoveryMode::Finish, Fault::default())
                .0
                .unwrap();
            let tree = place.tree();
            assert!(tree == old || tree == new, "{at}, {kill}: {tree:#?}");
        }
        for again in 0.. {
            points += 1;
            let place = UPDATE.place();
            place.apply(&UPDATE, killed(at)).0.ok();
            let (_, device) = place.recover(RecoveryMode::Finish, killed(again));
            let is_whole = device.acts() <= again;
            place
                .recover(RecoveryMode::Finish, Fault::default())
                .0
                .unwrap();
            let tree = place.tree();
            assert!(tree == old || tree == new, "{at}, {again}: {tree:#?}");
            if is_whole {
                break;
            }
        }
    }
    println!("{points} points");
}

#[test]
fn a_killed_init_is_rolled_back_by_the_next_init() {
    let (old, new) = (INIT.before(), INIT.after());
    let points = INIT.acts(Fault::default());
    for at in 0..points {
        let place = INIT.place();
        let killed = place.apply(&INIT, killed(at)).0.is_err();
        place
            .recover(RecoveryMode::RollBack, Fault::default())
            .0
            .unwrap();
        let interrupted = place
            .tree()
            .keys()
            .any(|path| path.starts_with("p/operator"));
        assert!(!interrupted || place.tree() == new || !killed, "{at}");
        if !interrupted {
            place.apply(&INIT, Fault::default()).0.unwrap();
        }
        place
            .recover(RecoveryMode::Finish, Fault::default())
            .0
            .unwrap();
        assert_eq!(place.tree(), new, "{at}");
    }
    println!("{points} points");
    // an existing project is not rolled back
    let place = UPDATE.place();
    place
        .apply(&UPDATE, killed(UPDATE.acts(Fault::default()) / 2))
        .0
        .unwrap_err();
    let before = place.tree();
    assert_eq!(
        place
            .recover(RecoveryMode::RollBack, Fault::default())
            .0
            .unwrap(),
        None
    );
    assert_eq!(place.tree(), before);
    assert_ne!(before, old);
}

#[test]
fn an_edit_between_the_kill_and_the_next_command_is_kept() {
    let mut points = 0;
    for case in CASES {
        let new = case.after();
        for at in 0..case.acts(Fault::default()) {
            for (path, before, after) in case.rows {
                for edit in [Some("the user's\n"), None] {
                    points += 1;
                    let place = case.place();
                    place.apply(case, killed(at)).0.ok();
                    let file = place.root().join(path);
                    match edit {
                        Some(text) => write(&file, text),
                        None if before.is_some() && file.exists() => {
                            fs::remove_file(&file).unwrap();
                        }
                        None => continue,
                    }
                    let before = place.tree();
                    let recovery = place
                        .recover(RecoveryMode::Finish, Fault::default())
                        .0
                        .unwrap();
                    assert_eq!(
                        fs::read_to_string(&file).ok().as_deref(),
                        edit,
                        "{path} {at}"
                    );
                    let Some(Recovery::Finished(executed)) = recovery else {
                        continue;
                    };
                    // if the user has already removed a file that the plan removes, nothing is skipped
                    let is_skipped = edit.is_some() || after.is_some();
                    assert_eq!(
                        executed.skipped.contains(&(*path).to_owned()),
                        is_skipped,
                        "{path} {at}"
                    );
                    let tree = place.tree();
                    let base = format!("p/.operator/base/{path}");
                    for (other, line) in &new {
                        let is_file = case.rows.iter().any(|row| *other == format!("p/{}", row.0));
                        if is_file && is_skipped && *other == base {
                            assert_eq!(tree.get(other), before.get(other), "{path} {at}");
                        } else if is_file && *other != format!("p/{path}") {
                            assert_eq!(tree.get(other), Some(line), "{path} {at}: {other}");
                        }
                    }
                }
            }
        }
    }
    println!("{points} points");
}

#[test]
fn a_locked_journal_is_waited_for() {
    let place = INIT.place();
    place.apply(&INIT, killed(40)).0.unwrap_err();
    let root = Root::open(&place.root()).unwrap();
    let path = root.join(Direction::Forward.journal());
    let lock = root.open_locked(Direction::Forward.journal()).unwrap();
    let worker = thread::spawn(move || {
        thread::sleep(Duration::from_millis(50));
        fs::remove_file(path).unwrap();
        drop(lock);
    });
    assert!(Journal::find(&root).unwrap().is_none());
    worker.join().unwrap();
}

#[test]
fn an_unwritable_or_changed_file_is_refused_before_anything_changes() {
    for (path, before, _) in UPDATE.rows.iter().filter(|row| row.1.is_some()) {
        let place = UPDATE.place();
        let file = place.root().join(path);
        let mut permissions = fs::metadata(&file).unwrap().permissions();
        permissions.set_readonly(true);
        fs::set_permissions(&file, permissions).unwrap();
        let tree = place.tree();
        let error = place.apply(&UPDATE, Fault::default()).0.unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("{} can't be written: it is read-only", file.display())
        );
        assert!(error.help().contains("make the file writable"));
        assert_eq!(place.tree(), tree);

        let place = UPDATE.place();
        let edited = format!("{}more\n", before.unwrap_or_default());
        write(&place.root().join(path), &edited);
        let tree = place.tree();
        let error = place.apply(&UPDATE, Fault::default()).0.unwrap_err();
        assert!(matches!(error, DiskError::Changed(changed) if changed == *path));
        assert_eq!(place.tree(), tree);
    }
}
