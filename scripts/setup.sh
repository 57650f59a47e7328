#!/usr/bin/env bash
# setup.sh [demo]: installs what the project needs on Debian 12: Debian packages, and the npm packages that carry
# the EVM tools (anvil, forge, cast, solc, solhint, OpenZeppelin) and a reader of Parquet files. `demo` leaves out the
# packages that only tests, checks and benchmarks need. Idempotent: skips everything that is already installed.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf 'setup: %s\n' "$*"; }
die() { printf 'setup: %s\n' "$*" >&2; exit 1; }

lists=(scripts/debian-packages.txt scripts/debian-packages-tests.txt)
case ${1:-} in
'') ;;
demo) lists=(scripts/debian-packages.txt) ;;
*) die "unknown argument '$1': expected 'demo' or nothing" ;;
esac
# No `< <(...)`: it needs /dev/fd, which is not there in a chroot without /proc.
mapfile -t packages <<<"$(sed 's/#.*//; s/[[:space:]]*$//; /^$/d' "${lists[@]}")"
# A machine may bring its own Node.js with npm; Debian's is installed only where there is none.
command -v node >/dev/null && command -v npm >/dev/null || packages+=(nodejs npm)

missing=()
for package in "${packages[@]}"; do
    status=$(dpkg-query -W -f='${Status}' "$package" 2>/dev/null || true)
    [[ $status == "install ok installed" ]] || missing+=("$package")
done
if ((${#missing[@]})); then
    [[ $(id -u) == 0 ]] || command -v sudo >/dev/null ||
        die "missing packages (${missing[*]}); run as root, or install sudo"
    sudo=(); [[ $(id -u) == 0 ]] || sudo=(sudo)
    say "installing ${#missing[@]} Debian packages: ${missing[*]}"
    "${sudo[@]}" apt-get update -qq
    # The distribution's cluster would take port 5432 and memory; the project starts private ones.
    "${sudo[@]}" mkdir -p /etc/postgresql-common
    [[ -e /etc/postgresql-common/createcluster.conf ]] ||
        echo 'create_main_cluster = false' | "${sudo[@]}" tee /etc/postgresql-common/createcluster.conf >/dev/null
    "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
        -o Dpkg::Use-Pty=0 "${missing[@]}" >/dev/null
else
    say "Debian packages: nothing to do"
fi

# libtorrent's headers come with those of Boost 1.74, which Debian does not let beside Boost 1.81: both are unpacked into a
# folder that only gym-torrent is compiled with (docs/adr/0021-torrents.md). apt checks the signatures of both.
headers=/opt/gym-libtorrent
if [[ ! -e $headers/usr/include/libtorrent/session.hpp || ! -e $headers/usr/include/boost/version.hpp ]]; then
    [[ $(id -u) == 0 ]] || command -v sudo >/dev/null || die "run as root, or install sudo, to make $headers"
    sudo=(); [[ $(id -u) == 0 ]] || sudo=(sudo)
    say "unpacking libtorrent's headers into $headers"
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    chmod 755 "$work"
    download() { (cd "$work" && apt-get download -qq -o APT::Sandbox::User=root libtorrent-rasterbar-dev libboost1.74-dev); }
    # The packages may all be there, and the lists of packages not.
    download || { "${sudo[@]}" apt-get update -qq; download; }
    for package in "$work"/*.deb; do
        "${sudo[@]}" dpkg-deb -x "$package" "$headers"
    done
else
    say "libtorrent's headers: nothing to do"
fi

# install_npm FOLDER WHAT: the packages of FOLDER/package-lock.json.
install_npm() {
    local folder=$1 what=$2 stamp=$1/node_modules/.installed-lock
    if [[ -L $folder/node_modules ]]; then
        # `npm ci` would empty the folder that the link points to, which is another tree's.
        say "npm packages: $folder/node_modules is a link, left as it is"
    elif ! cmp -s "$folder/package-lock.json" "$stamp" 2>/dev/null; then
        say "installing npm packages of $folder/ ($what)"
        (cd "$folder" && npm ci --no-audit --no-fund --loglevel=error)
        cp "$folder/package-lock.json" "$stamp"
    else
        say "npm packages of $folder/: nothing to do"
    fi
}
install_npm contracts "anvil, forge, cast, solc, solhint, OpenZeppelin"
install_npm tools/parquet "a reader of Parquet files"
[[ ${1:-} == demo ]] || install_npm tests/support/npm "an object store, a writer of Parquet files and curves for vectors, for tests"
[[ ${1:-} == demo ]] || install_npm tests/integration/tokenizer "peers of the tokenizer, with their ranks"
