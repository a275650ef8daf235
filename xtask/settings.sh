# What runs before the commands of each proof, in the root of the repository. $GATE is the gate, if there is one.

# The cargo that runs xtask describes its package in variables. The build script of ring asks for some of them: it would run again, and all
# that needs ring be compiled again.
unset CARGO "${!CARGO_PKG_@}" "${!CARGO_MANIFEST_@}"
mkdir -p "${CARGO_TARGET_DIR:=target}"
CARGO_TARGET_DIR=$(cd "$CARGO_TARGET_DIR" && pwd -P)
# more tests than cores, as many wait for a server or a clock; without debug information, Go compiles in nine tenths of the time
export CARGO_TARGET_DIR RUST_TEST_THREADS=4 GOFLAGS=-gcflags=all=-dwarf=false
# Projects that the tests make are written and synced often: in memory, where there is room for them.
if [ -w /dev/shm ] && [ "$(df --output=avail -k /dev/shm | tail -1)" -gt 8000000 ]; then export TMPDIR=/dev/shm; fi
if [ -n "${GATE:-}" ]; then
  # without debug information the workspace is built faster; panics still name their line, backtraces do not
  export CARGO_TERM_COLOR=never CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=false
  # without symbols, the programs of the tests take 5 GB instead of 9
  export CARGO_PROFILE_DEV_STRIP=symbols
fi
# a change is not refused for what another draw of values finds in old code; `full` draws others
if [ "${GATE:-}" = ci ]; then export PROPTEST_RNG_SEED=1; fi

tool() {
  export PATH=$CARGO_TARGET_DIR/debug:$PATH CARGO_OPERATOR=$CARGO_TARGET_DIR/debug/cargo-operator
  export SERVE=$CARGO_TARGET_DIR/debug/examples/serve HANDLERS=$CARGO_TARGET_DIR/debug/examples/handlers
}
server() { export KUBEBUILDER_ASSETS=${KUBEBUILDER_ASSETS:-$CARGO_TARGET_DIR/control-plane}; }
# folder VARIABLE FOLDER: exports the variable, whose default is this folder, or unsets it if there is no such folder.
folder() {
  local path=${!1:-$2}
  if [ -d "$path" ]; then
    export "$1=$(cd "$path" && pwd -P)"
  elif [ -n "${!1:-}" ]; then
    echo "$1: there is no folder $path"
    exit 1
  fi
}
skip() { echo "skipped: there is no folder of $1"; exit 77; }
corpus_if_present() { folder CORPUS ../shared/crds; }
corpus() { corpus_if_present; [ -n "${CORPUS:-}" ] || skip "real CRDs"; }
histories() { folder HISTORIES ../shared/histories; [ -n "${HISTORIES:-}" ] || skip "the revisions of real CRDs"; }
