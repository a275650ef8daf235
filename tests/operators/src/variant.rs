//! The operators, by the names that `VARIANT` has and that the file `variants` lists.

macro_rules! variants {
    ($($variant:ident = $name:literal,)*) => {
        /// Which operator runs.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Variant {
            $($variant,)*
        }

        impl Variant {
            pub fn named(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$variant),)*
                    _ => None,
                }
            }
        }
    };
}

variants! {
    Correct = "correct",

    // broken, and written before their author had read the tests
    TransitionTimeNow = "transition-time-now",
    ChildOfUnknownName = "child-of-unknown-name",
    CleanupNotTwice = "cleanup-not-twice",
    PanicsWithoutSecret = "panics-without-secret",
    NeverUpdatesAChild = "never-updates-a-child",
    HashOrder = "hash-order",
    ReadyDespiteErrors = "ready-despite-errors",
    SkipsWhatItObserved = "skips-what-it-observed",
    WritesWholeObject = "writes-whole-object",
    ListsEverywhere = "lists-everywhere",

    // broken as well
    AlwaysFails = "always-fails",
    DoesNothing = "does-nothing",
    NeverLetsGo = "never-lets-go",
    AnotherValueEachTime = "another-value-each-time",
    LeaksAChild = "leaks-a-child",
    AdoptsAnothersChild = "adopts-anothers-child",
    IgnoresTheDeletion = "ignores-the-deletion",
    PanicsAtTheSecondObject = "panics-at-the-second-object",
    PanicsInParents = "panics-in-parents",
    BlocksItsThread = "blocks-its-thread",
    ForgetsAChildOnError = "forgets-a-child-on-error",
    ObservedTooEarly = "observed-too-early",
    SwallowsAConflict = "swallows-a-conflict",
    RetriesWithoutDelay = "retries-without-delay",
    NeedsAnUndeclaredRight = "needs-an-undeclared-right",
    DeclaresAnUnneededRight = "declares-an-unneeded-right",
    StaleCache = "stale-cache",
    ForgetsAField = "forgets-a-field",
    PollsEachSecond = "polls-each-second",
    TakesForeignStatus = "takes-foreign-status",
    DropsForeignStatus = "drops-foreign-status",
    GenerationPlusOne = "generation-plus-one",
    ReadyOfAStaleStatus = "ready-of-a-stale-status",
    ReadyOfNoGeneration = "ready-of-no-generation",
    FirstObjectOnly = "first-object-only",
    FirstSpecForAll = "first-spec-for-all",
    SharedSelector = "shared-selector",
    SilentFailure = "silent-failure",
    HidesAnError = "hides-an-error",
    HotLoop = "hot-loop",
    LoopWithoutDelay = "loop-without-delay",
    PresentTime = "present-time",
    EventEachTime = "event-each-time",
    UpdateDropsTheTag = "update-drops-the-tag",

    // correct, if unusual
    NoChildren = "no-children",
    OnlyEvents = "only-events",
    SlowStart = "slow-start",
    SlowReconcile = "slow-reconcile",
    LongRequeue = "long-requeue",
    RegularResync = "regular-resync",
    SharedState = "shared-state",
    NeverReady = "never-ready",
    TwoStatusWrites = "two-status-writes",
    EventOfAChange = "event-of-a-change",
    TimeOfAChange = "time-of-a-change",
    ChildByClient = "child-by-client",
    ManyChildren = "many-children",
    ChildrenAtOnce = "children-at-once",
    GenerationOfConditions = "generation-of-conditions",
    ReadyWhenApplied = "ready-when-applied",
    ReadyOfTheOld = "ready-of-the-old",
    NumbersItsObjects = "numbers-its-objects",
    OneObjectOnly = "one-object-only",
    BestEffortChild = "best-effort-child",
    UpdatesFields = "updates-fields",
}
