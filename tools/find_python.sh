#!/bin/sh
# Print the path of the CPython that the project is built with, or say in one line what to install.
#
#   find_python.sh            the best one found on this machine
#   find_python.sh 3.12       one of this version
#   find_python.sh /path      this one, or a command on PATH
#
# Looked at, in this order: PATH, pyenv's versions, the system's folders. Of those that are
# complete (headers, venv) the newest version that this release supports wins: see $supported.
set -u

tools=$(dirname "$0")
wanted=${1:-}
wanted=${wanted#python}
supported="3.13 3.12"
# Newer than this release was written for: taken when there is nothing else.
unproven="3.14 3.15"

# Runs inside a candidate; prints "complete|partial VERSION PATH", or nothing when it is no use:
# another implementation, too old, a pre-release, or a free-threaded build.
probe='
import os, sys, sysconfig
version = sys.version_info
ok = sys.implementation.name == "cpython" and version >= (3, 12)
ok = ok and version.releaselevel == "final" and not sysconfig.get_config_var("Py_GIL_DISABLED")
if ok:
    complete = os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h"))
    try:
        import ensurepip, venv
    except ImportError:
        complete = False
    print("complete" if complete else "partial", "%d.%d" % version[:2], sys.executable)
'

candidates() {
    case $wanted in
        "" | 3.*) ;;
        *)
            command -v "$wanted" || command -v "python$wanted"
            return
            ;;
    esac
    for version in ${wanted:-$supported $unproven}; do
        command -v "python$version"
        for folder in "${PYENV_ROOT:-$HOME/.pyenv}/versions" "$HOME/.pyenv/versions"; do
            for found in "$folder/$version".*/bin/python; do echo "$found"; done
        done
        for folder in /usr/local/bin /usr/bin /opt/python/bin; do echo "$folder/python$version"; done
    done
    [ -n "$wanted" ] || { command -v python3; echo /usr/local/bin/python3; echo /usr/bin/python3; }
}

# Print what the probe says of every candidate that starts. (A pyenv shim of a version that is not
# switched on exists and fails: that is why each is run.)
survey() {
    candidates | while read -r candidate; do
        [ -x "$candidate" ] && "$candidate" -c "$probe" 2>/dev/null </dev/null
    done
}

# choose KIND: print "VERSION PATH" of the best candidate of that kind.
choose() {
    for version in $supported $unproven; do
        found=$(printf '%s\n' "$rows" | sed -n "s/^$1 $version //p" | head -n 1)
        [ -n "$found" ] && { echo "$version $found"; return; }
    done
}

try_complete() {
    rows=$(survey)
    best=$(choose complete)
    [ -n "$best" ] && { echo "${best#* }"; exit 0; }
}

try_complete
partial=$(choose partial)
if [ -n "$partial" ]; then
    version=${partial%% *}
    sh "$tools/apt_install.sh" "python$version-dev" "python$version-venv" >&2 || exit 1
    try_complete
fi
if [ -z "$wanted" ] && [ -z "$partial" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    minor=$(apt-cache policy python3 2>/dev/null | sed -n 's/^  Candidate: 3\.\([0-9]*\).*/\1/p')
    if [ "${minor:-0}" -ge 12 ]; then
        sh "$tools/apt_install.sh" python3 python3-dev python3-venv >&2 || exit 1
        try_complete
    fi
fi
case $wanted in
    "" | 3.*) name="CPython ${wanted:-3.12 or newer}" ;;
    *) name="a usable CPython >= 3.12 at '$wanted'" ;;
esac
install=${wanted:-3.13}
[ "${install#3.}" != "$install" ] || install=3.13
echo "missing: $name (with headers); install it with: pyenv install $install" \
    "(or: apt-get install python$install-dev python$install-venv)" >&2
exit 1
