"""A Debian of its own, below the user's cache, for interpreters that this system does not have.

Made once by debootstrap, about 1 GB. What runs inside runs in a mount namespace that ends with
it, so nothing stays mounted, however it ends. Needs root and the mirror of a Debian's apt.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tools.dev import system
from tools.dev.console import LOGS, ROOT, DevError, run

SUITE = "forky"
# Where sources of interpreters are listed: mirrors do not keep each that they list.
SOURCE_SUITES = (SUITE, "sid", "trixie")
APT_FOLDER = Path("/etc/apt")
SCRIPTS = Path("/usr/share/debootstrap/scripts")
CERTIFICATES = "etc/ssl/certs/ca-certificates.crt"
NEEDS = (system.Need("debootstrap", lambda: shutil.which("debootstrap") is not None),)
PACKAGES = (
    *("ca-certificates", "gcc", "g++", "libc6-dev", "make", "pkg-config", "binutils", "git"),
    *("liblz4-dev", "libdw-dev", "libdebuginfod-dev", "procps", "nodejs"),
    *("libjemalloc2", "libgoogle-perftools-dev", "libmimalloc-dev"),
)
# What a build of CPython takes for the modules that the tests import.
BUILD_PACKAGES = (
    *("dpkg-dev", "xz-utils", "zlib1g-dev", "libssl-dev", "libffi-dev", "libbz2-dev"),
    *("liblzma-dev", "libsqlite3-dev", "libexpat1-dev", "uuid-dev"),
)
# Leaves the archive of a source package, whose name is $1, in the working folder: the newest of the
# versions that are listed and that are really there. Debian's own part of it is not asked for.
FETCH_SOURCE = r"""
apt-get update
for version in $(apt-cache showsrc --only-source "$1" | sed -n 's/^Version: //p' | sort -ruV); do
    apt-get source --only-source --print-uris "$1=$version" >printed  # 'URI' name size hash
    found=$(sed -n "s/^'\(.*\.orig\.tar\.[a-z0-9]*\)' \([^ ]*\) [0-9]* /\1 \2 /p" printed)
    rm printed
    if [ -n "$found" ] && /usr/lib/apt/apt-helper download-file $found; then
        exit 0
    fi
done
exit 1
"""
# Builds an archive in the working folder: $1 is where the interpreter goes.
BUILD_PYTHON = """
tar --strip-components=1 -xf ./*.tar.*
./configure --prefix="$1" --disable-gil --with-ensurepip=install --disable-test-modules
make -j"$(nproc)"
rm -rf "$1"
make install
"""
# Inside the namespace: $1 is the new root, the rest the command and its arguments.
ENTER = """
set -e
root=$1; shift
mount -t proc proc "$root/proc"
mount -t sysfs -o ro sysfs "$root/sys"
mount --rbind /dev "$root/dev"
if [ -f "/$CERTIFICATES" ] && [ -f "$root/$CERTIFICATES" ]; then
    mount --bind "/$CERTIFICATES" "$root/$CERTIFICATES"
fi
exec chroot "$root" "$@"
"""
PASSED_ON = re.compile(
    r"PIP_(?!FIND_LINKS|CONFIG_FILE|CONSTRAINT)\w+|\w+_proxy|CI|LANG|LC_ALL", re.I
)


class NoSource(DevError):
    """Nobody has the source of an interpreter that is not packaged."""


def cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "proftrace"


def sources_folder() -> Path:
    return cache_folder() / "sources"


def own_archive(version: str) -> Path | None:
    """Return the newest source archive of a version that somebody has put into the cache."""
    pattern = re.compile(rf"python[-_]?{re.escape(version)}[._].*\.tar\.(xz|gz|bz2)", re.I)
    found = sources_folder().glob("*") if sources_folder().is_dir() else ()
    archives = [path for path in found if pattern.fullmatch(path.name)]
    return max(archives, key=lambda path: path.stat().st_mtime, default=None)


def find_mirror(sources: Sequence[str], codename: str) -> str | None:
    """Return the first archive in the texts of apt's sources that has this release in it."""
    for text in sources:
        for line in text.splitlines():  # deb [options] URI suite components
            words = re.sub(r"\[[^]]*\]", "", line.partition("#")[0]).split()
            if len(words) > 3 and words[0] == "deb" and words[2] == codename:
                return words[1]
        for stanza in re.split(r"\n\s*\n", text):
            fields = dict(re.findall(r"^([\w-]+):[ \t]*(.*)$", stanza, re.MULTILINE))
            if "deb" in fields.get("Types", "").split() and codename in fields["Suites"].split():
                return str(fields["URIs"].split()[0])
    return None


def read_mirror() -> str:
    """Return the Debian mirror that this system's apt uses."""
    files = [APT_FOLDER / "sources.list", *sorted((APT_FOLDER / "sources.list.d").glob("*.*"))]
    files = [path for path in files if path.suffix in (".list", ".sources") and path.is_file()]
    codename = platform.freedesktop_os_release().get("VERSION_CODENAME", "")
    mirror = find_mirror([path.read_text() for path in files], codename)
    if mirror is None:
        raise DevError(f"apt's sources name no Debian archive with {codename or 'this release'}")
    return mirror


class Chroot:
    """The system in the cache folder; `prepare` makes what is missing of it."""

    def __init__(self) -> None:
        self.path = cache_folder() / SUITE
        # Each working tree has its own copy inside, with its environments and build folders.
        name = hashlib.sha256(str(ROOT).encode()).hexdigest()[:8]
        self.project = f"/srv/proftrace-{name}"
        self.variables = {k: v for k, v in os.environ.items() if PASSED_ON.fullmatch(k)}
        self.variables |= {
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": "/root",
            "LANG": os.environ.get("LANG", "C.UTF-8"),
            "CERTIFICATES": CERTIFICATES,
            "DEBIAN_FRONTEND": "noninteractive",
        }

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other working trees from changing the system at the same time."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with (self.path.parent / f"{SUITE}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def enter(self, *command: str, folder: str = "/") -> list[str]:
        """Return the words that run a command inside."""
        inside = ["sh", "-c", 'cd "$0" && exec "$@"', folder, *command]
        outside = ["unshare", "--mount", "--propagation", "private", "sh", "-c", ENTER, "enter"]
        return [*outside, str(self.path), *inside]

    def run(self, title: str, *command: str, folder: str = "/", check: bool = True) -> int:
        """Run a command inside; return its exit status, which is 0 unless `check` is off."""
        words = self.enter(*command, folder=folder)
        return run(title, words, environment=self.variables, log="chroot.log", check=check)

    def is_done(self, name: str) -> bool:
        """Tell whether a step was done, with whatever key."""
        return (self.path / "var" / "lib" / "proftrace" / name).exists()

    def step(self, name: str, make: Callable[[], object], *, key: str = "") -> None:
        """Do something once in the life of the system, or whenever the key is another one."""
        stamp = self.path / "var" / "lib" / "proftrace" / name
        if stamp.exists() and stamp.read_text() == key:
            return
        make()
        stamp.parent.mkdir(parents=True, exist_ok=True)
        stamp.write_text(key)

    def bootstrap(self, mirror: str) -> None:
        """Make the base system; an unfinished one never has the final name."""
        if self.path.exists():
            return
        unfinished = self.path.with_suffix(".new")
        shutil.rmtree(unfinished, ignore_errors=True)
        command: list[object] = ["debootstrap", "--variant=minbase", SUITE, unfinished, mirror]
        if not (SCRIPTS / SUITE).exists():
            command.append(SCRIPTS / "sid")  # older than the release: the rules are the same
        title = f"debootstrap {SUITE} in {self.path}"
        run(title, command, environment=os.environ, log="chroot.log")
        # Mirrors lag behind, and what this is for loses nothing by that.
        settings = 'Acquire::Check-Valid-Until "false";\nAPT::Sandbox::User "root";\n'
        (unfinished / "etc/apt/apt.conf.d/90proftrace").write_text(settings)
        unfinished.rename(self.path)

    def name_sources(self, mirror: str) -> None:
        """Tell apt inside where packages and sources are."""
        sources = [f"deb {mirror} {SUITE} main"]
        sources += [f"deb-src {mirror} {suite} main" for suite in SOURCE_SUITES]
        (self.path / "etc/apt/sources.list").write_text("\n".join(sources) + "\n")

    def install(self, name: str, *packages: str) -> None:
        """Install packages, once for each content of a set."""

        def make() -> None:
            self.run("apt: lists", "apt-get", "update")
            words = ("apt-get", "install", "-y", "--no-install-recommends", *packages)
            self.run(f"apt: {name}", *words)

        self.step(f"packages-{name}", make, key=" ".join(packages))

    def prepare(self) -> None:
        if os.geteuid() != 0:
            raise DevError("only root can make the system that this interpreter runs in")
        system.ensure(NEEDS)
        with self.locked():
            mirror = read_mirror()
            self.bootstrap(mirror)
            self.name_sources(mirror)
            for name in ("etc/resolv.conf", "etc/hosts"):
                if Path("/", name).exists():
                    shutil.copyfile(Path("/", name), self.path / name)
            self.install("tools", *PACKAGES)

    def packaged_python(self, version: str) -> str:
        """Return the path inside of Debian's own build of a version."""
        name = f"python{version}"
        with self.locked():
            self.install(name, name, f"{name}-dev", f"{name}-venv")
        return f"/usr/bin/{name}"

    def free_threaded_python(self, version: str) -> str:
        """Return the path inside of a build without the GIL, made from Debian's source.

        An archive that somebody has put into the cache (Python-3.14.0.tar.xz) comes first.
        """
        home = f"/opt/python{version}t"
        own = own_archive(version)
        recipe = hashlib.sha256(BUILD_PYTHON.encode()).hexdigest()[:8]
        name = f"python{version}t-{recipe}"
        with self.locked():
            self.install("build of CPython", *BUILD_PACKAGES)
            if own is not None or not self.is_done(name):
                key = own.name if own else ""
                self.step(name, lambda: self.build_python(version, home, own), key=key)
        return f"{home}/bin/python{version}"

    def build_python(self, version: str, home: str, archive: Path | None) -> None:
        """Build CPython without the GIL, from an archive or from the first source there is."""
        name = f"python{version}"
        folder = f"/usr/src/{name}t"
        outside = self.path / folder.lstrip("/")
        shutil.rmtree(outside, ignore_errors=True)
        outside.mkdir(parents=True)
        if archive is not None:
            shutil.copy(archive, outside)
        else:
            fetch = ("sh", "-c", FETCH_SOURCE, "fetch", name)
            if self.run(f"{name}: source", *fetch, folder=folder, check=False):
                raise NoSource(
                    f"the mirror has no source of {name} ({', '.join(SOURCE_SUITES)});"
                    f" put an archive (Python-{version}.0.tar.xz) into {sources_folder()}"
                )
        build = ("sh", "-ec", BUILD_PYTHON, "build", home)
        self.run(f"{name}t built", *build, folder=folder)
        shutil.rmtree(outside)

    def copy_project(self) -> Path:
        """Bring the copy of the working tree inside up to date; return its path outside."""
        target = self.path / self.project.lstrip("/")
        listed = git("ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0")
        wanted = {name for name in listed if name and (ROOT / name).is_file()}
        target.mkdir(parents=True, exist_ok=True)
        if (target / ".git").exists():
            known = git("ls-files", "-z", folder=target).split("\0")
            for name in set(known) - wanted - {""}:
                (target / name).unlink(missing_ok=True)
        else:
            git("init", "--quiet", folder=target)
        for name in sorted(wanted):
            copy_if_changed(ROOT / name, target / name)
        git("add", "--all", folder=target)
        who = ("-c", "user.name=matrix", "-c", "user.email=matrix@localhost")
        git(*who, "commit", "--quiet", "--allow-empty", "-m", "copy", folder=target)
        return target

    def take_logs(self, name: str) -> None:
        """Copy what the last run wrote out of its folder, for a look from outside."""
        source = self.path / self.project.lstrip("/") / "out" / "logs"
        shutil.rmtree(LOGS / name, ignore_errors=True)
        if source.exists():
            shutil.copytree(source, LOGS / name)


def git(*words: str, folder: Path = ROOT) -> str:
    command = ["git", "-c", "safe.directory=*", "-C", str(folder), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise DevError(f"git {words[0]} in {folder}: {done.stderr.strip()}")
    return done.stdout


def copy_if_changed(source: Path, target: Path) -> None:
    """Copy a file unless it is there, so that builds see which files are new."""
    if target.is_file() and target.read_bytes() == source.read_bytes():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, target)
