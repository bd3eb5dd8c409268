#!/bin/sh
# Install Debian packages when root, quietly; otherwise say in one line what is missing and how to
# get it, and fail. The whole output of apt is in out/logs/apt.log.
#
#   apt_install.sh PACKAGE...
set -u

if ! command -v apt-get >/dev/null; then
    echo "missing: $*; install your system's packages of these (Debian's names)" >&2
    exit 1
fi
if [ "$(id -u)" != 0 ]; then
    echo "missing: $*; install with: sudo apt-get install -y $*" >&2
    exit 1
fi
log=out/logs/apt.log
mkdir -p out/logs
export DEBIAN_FRONTEND=noninteractive
echo "==> apt: installing $*"
for attempt in 1 2 3; do
    {
        echo "-- attempt $attempt: $*"
        apt-get -o Acquire::Retries=3 -o DPkg::Lock::Timeout=300 update &&
            apt-get -o Acquire::Retries=3 -o DPkg::Lock::Timeout=300 \
                install -y --no-install-recommends "$@"
    } >>"$log" 2>&1 </dev/null && exit 0
    sleep $((attempt * 2))
done
echo "apt could not install: $*; see $log, or run: apt-get install -y $*" >&2
exit 1
