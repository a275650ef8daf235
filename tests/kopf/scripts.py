"""The scripts that tests/kopf/compare.py runs, by the name of their object."""

CLASSES = {
    "resume within an update": "Kopf calls resume handlers of an object that was changed while the operator was down with the cause update (docs/handlers)",

    "status fields": "Kopf calls update handlers, too, for a change of a status field that a field handler watches (docs/kopf)",
    "change during a cause": "Kopf does not call handlers that were done for a change that comes meanwhile (its issues 1072 and 1178)",
    "fields of deleted objects": "Kopf calls field handlers of an object that was changed and then deleted (docs/handlers, processing.py)",
}

APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
L = lambda **labels: {"labels": labels}
# no handler accepts an object with this label
IGNORED, SEEN = L(ignored="yes"), L(ignored=None)


def only(*handlers):
    return lambda line: line["handler"] in handlers


def without_updates_by_status(lines):
    """The lines without the calls of update handlers for a status, and without the cause of resume handlers."""
    by_status = lambda line: all(path.startswith("status") for path in line.get("diff", ["spec"]))
    return [line for line in without_resume(lines) if not by_status(line)]


def without_resume(lines):
    """The lines without the cause of resume handlers."""
    return [line | {"cause": "resume"} if line["handler"] in ("r1", "r2") else line for line in lines]


class Distinct:
    """Selects the events of the watch that are not repeated: each operator writes its progress as often as it wants."""

    def __init__(self):
        self.last = {}

    def __call__(self, line):
        is_new = line["handler"] == "event" and self.last.get("cause") != line["cause"]
        if line["handler"] == "event":
            self.last = line
        return is_new


CREATED = ["create c1@0", "create c2@0", 'create f@0 {"new": 1, "old": null}']


def updated(*paths, attempts=(0, 0)):
    """The lines of both update handlers."""
    diff = json.dumps({"diff": sorted(paths)})
    return [f"update {handler}@{attempt} {diff}" for handler, attempt in zip(("u1", "u2"), attempts)]


SCRIPTS = {
    "create": Script({"up": [create()]}),
    "edit-field": Script({"up": [create(), edit(size=2)]}),
    "edit-other": Script({"up": [create(), edit(note="x")]}),
    "field-goes-and-comes": Script({"up": [create(), edit(size=None), edit(size=3)]}),
    "without-field": Script({"up": [create({"note": "x"}), edit(note="y")]}),
    "labels-and-annotations": Script({"up": [
        create(), meta(labels={"a": "b"}), meta(annotations={"c": "d"}),
        meta(annotations={APPLIED: "{}"}),
    ]}),
    "quiet-edits": Script({"up": [create(), status(note="x"), meta(annotations={APPLIED: "{}"}), status(note=None)]}),
    "status-field": Script(
        {"up": [create(), status(phase="a"), status(phase="b"), status(note="x"), edit(size=2)]},
        {"down": [status(phase="c")], "up": [status(phase=None), status(phase="d"), meta(**IGNORED), status(phase="e"), meta(**SEEN)]},
        differs="status fields", masked=without_updates_by_status,
    ),
    "status-field-that-its-handler-writes": Script(
        {"up": [create({"size": 1}, **L(ends="yes")), status(phase="a"), edit(size=2), status(phase="b")]},
        # Kopf does not call the handler for its own write, as u2 is called after that
        differs="change during a cause", ours=[
            *CREATED, 'update phase@0 {"new": "a", "old": null}', 'update phase@0 {"new": "ended", "old": "a"}',
            updated("spec.size")[0], 'update f@0 {"new": 2, "old": 1}', updated("spec.size")[1],
            'update phase@0 {"new": "b", "old": "ended"}', 'update phase@0 {"new": "ended", "old": "b"}',
        ],
    ),
    "restarted": Script({"up": [create(), meta(annotations={"kubectl.kubernetes.io/restartedAt": "now"})]}),
    "temporary": Script({"up": [create()]}, plan={"c1": ["temporary"] * 3}),
    "permanent": Script({"up": [create(), edit(size=2)]}, plan={"c1": ["permanent"]}),
    "arbitrary-with-limit": Script({"up": [create(), edit(size=2)]}, plan={"c1": ["other"] * 9}),
    # the delay is longer than two attempts of the other handler take on a busy machine
    "some-fail": Script({"up": [create()]}, plan={"c1": ["temporary:0"] * 2, "f": ["temporary:10"]}, quiet=12),
    "update-fails": Script({"up": [create(), edit(size=2)]}, plan={"u1": ["other"] * 2, "u2": ["permanent"]}),
    "restart-idle": Script({"up": [create()]}, {}, {}),
    "edited-while-down": Script({"up": [create()]}, {"down": [edit(size=2), edit(size=3), edit(note="x")]}, differs="resume within an update", masked=without_resume),
    "created-while-down": Script({}, {"down": [create()]}),
    "deleted-while-down": Script({"up": [create()]}, {"down": [delete], "up": [gone]}),
    "edited-and-deleted-while-down": Script(
        {"up": [create()]}, {"down": [edit(size=2), delete], "up": [gone]},
        differs="fields of deleted objects", ours=[*CREATED, "delete d1@0", "delete d2@0"],
    ),
    "reverted-while-down": Script({"up": [create()]}, {"down": [edit(size=2), edit(size=1)]}),
    "restart-between-attempts": Script({"up": [create()]}, {"up": [called("c1", "c1")]}, plan={"c1": ["temporary:15"]}, alone=True),
    "kill-in-handler": Script({"up": [create()]}, {}, plan={"c1": ["block"]}),
    "kill-after-first": Script({"up": [create()]}, {}, plan={"c2": ["block"]}),
    "kill-in-update": Script({"up": [create(), edit(size=2)]}, {}, plan={"u2": ["block"]}, differs="resume within an update", masked=without_resume),
    "kill-in-delete": Script({"up": [create(), delete]}, {"up": [gone]}, plan={"d2": ["block"]}),
    "edit-during-update": Script(
        {"up": [create(), Until(edit(note="x"), "u1", "u2"), edit(more="y")]}, plan={"u2": ["temporary:8"]}, quiet=10, differs="change during a cause",
        # Kopf does not call u1 for the second change
        ours=[*CREATED, *updated("spec.note"), updated("spec.note", "spec.more", attempts=(0, 1))[1], *updated("spec.more")],
    ),
    "edit-during-create": Script(
        {"up": [Until(create(), "c1", "c2", "f"), edit(size=2)]}, plan={"c2": ["temporary:8"]}, quiet=10, differs="change during a cause",
        ours=[*CREATED, "create c2@1", updated("spec.size")[0], 'update f@0 {"new": 2, "old": 1}', updated("spec.size")[1]],
    ),
    "revert-during-update": Script(
        {"up": [create(), Until(edit(note="x"), "u1", "u2"), edit(note=None), edit(note="z")]},
        plan={"u2": ["temporary:8"]}, quiet=10, differs="change during a cause",
        # Kopf calls u2 once more, and u1 for the first change only
        ours=[*CREATED, *updated("spec.note") * 3],
    ),
    "delete-during-create": Script({"up": [Until(create(), "c1", "c2", "f"), delete, gone]}, plan={"c1": ["temporary:8"] * 3}),
    "delete-during-update": Script({"up": [create(), Until(edit(note="x"), "u1", "u2"), delete, gone]}, plan={"u2": ["temporary:8"] * 3}),
    "delete-fails": Script({"up": [create(), delete, gone]}, plan={"d1": ["temporary"] * 2, "d2": ["permanent"]}),
    "delete": Script({"up": [create(), delete, gone]}),
    "foreign-finalizer": Script({"up": [
        create(finalizers=["test.example.com/other"]), delete, there, meta(labels={"a": "b"}), there, meta(finalizers=[]), gone,
    ]}),
    "filters": Script({"up": [create({"size": 1}, **L(label="yes"), annotations={"grows": ""}), edit(size=2), edit(size=1)]}),
    "filters-do-not-match": Script({"up": [create({"size": 1}, **L(label="no")), edit(size=2)]}),
    "ignored": Script({"up": [create({"size": 1}, **IGNORED), edit(size=2), finalizers(0)]}, {"up": [delete, gone]}),
    "accepted-later": Script({"up": [create({"size": 1}, **IGNORED), edit(size=2), meta(**SEEN), finalizers(1), edit(size=3)]}),
    "ignored-for-a-change": Script({"up": [
        create(), finalizers(1), meta(**IGNORED), finalizers(0), edit(size=2), edit(note="x"), meta(**SEEN), finalizers(1), edit(size=3),
    ]}),
    "ignored-without-a-change": Script({"up": [create(), meta(**IGNORED), meta(**SEEN), edit(size=2)]}),
    "ignored-while-down": Script({"up": [create()]}, {"down": [meta(**IGNORED)], "up": [meta(**SEEN)]}),
    "ignored-between-attempts": Script(
        {"up": [Until(create(), "c1", "c2", "f"), meta(**IGNORED), meta(**SEEN)]}, plan={"c1": ["temporary:2"]}, quiet=10,
    ),
    "ignored-and-deleted": Script({"up": [create(), meta(**IGNORED), delete, gone]}),
    "ignored-in-deletion": Script({"up": [create(), Until(delete, "d1", "d2"), meta(**IGNORED), gone]}, plan={"d1": ["temporary:60"]}),
    "accepted-in-deletion": Script({"up": [
        create({"size": 1}, **IGNORED, finalizers=["test.example.com/other"]), delete, meta(**SEEN), finalizers(1), meta(finalizers=[]), gone,
    ]}),
    "sub-handlers": Script({"up": [create({"items": ["a", "b", "c"]})]}, only=lambda line: "/" in line["handler"]),
    "sub-handler-retried": Script(
        {"up": [create({"items": ["a", "b", "c"]})]}, plan={"each/b": ["temporary"] * 2}, only=lambda line: "/" in line["handler"],
    ),
    "sub-handler-fails": Script(
        {"up": [create({"items": ["a", "b", "c"]}), edit(size=2)]}, plan={"each/b": ["permanent"]},
    ),
    "sub-handler-killed": Script(
        {"up": [create({"items": ["a", "b", "c"]})]}, {}, plan={"each/b": ["block"]}, only=lambda line: "/" in line["handler"],
    ),
    "several-causes": Script(
        {"up": [create({"size": 1}, **L(any="yes")), edit(size=2)]}, {"down": [edit(size=3)]}, {}, only=only("any"), plan={"any": ["temporary", "ok", "other"]},
    ),
    "several-causes-killed": Script({"up": [create({"size": 1}, **L(any="yes")), edit(size=2)]}, {}, only=only("any"), plan={"any": ["ok", "block"]}),
    "memo": Script({"up": [create({"size": 1}, **L(memo="yes")), edit(size=2)]}, {"up": [edit(size=3)]}),
    "events": Script({"up": [create({"size": 1}, **L(events="yes")), edit(size=2)]}, only=Distinct()),
    "timer-fails": Script({"up": [Until(create({"size": 1}, **L(timer="yes")), "timer", "timer", "timer", "c1", "f"), delete, gone]}, plan={"timer": ["other"] * 2}, only=lambda line: line["handler"] == "timer" and line["attempt"] > 0),
    # alone, because a busy machine delays Kopf's own writes, after which the object was idle once more
    "idle": Script({"up": [create({"size": 1}, **L(idle="yes")), status(note="x"), edit(size=2), edit(note="y")]}, only=only("idle"), alone=True),
    "daemon": Script({"up": [create({"size": 1}, **L(daemon="yes")), meta(labels={"daemon": "no"}), meta(labels={"daemon": "yes"}), delete, gone]}, plan={"daemon": ["other"] * 2}, only=only("daemon", "daemon-end")),
    "handlers-beside-a-daemon": Script({"up": [create({"size": 1}, **L(daemon="yes")), edit(size=2), delete, gone]}, only=lambda line: not line["handler"].startswith("daemon")),
}
