#!/usr/bin/env bash
# setup.sh [demo]: installs what the project needs on Debian 12: Debian packages, and the npm packages that carry
# the EVM tools (anvil, forge, cast, solc, solhint, OpenZeppelin). `demo` leaves out the packages that only tests,
# checks and benchmarks need. Idempotent: what is there already is skipped.
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
mapfile -t packages < <(sed 's/#.*//; s/[[:space:]]*$//; /^$/d' "${lists[@]}")
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

stamp=contracts/node_modules/.installed-lock
if [[ -L contracts/node_modules ]]; then
    # `npm ci` would empty the folder that the link points to, which is another tree's.
    say "npm packages: contracts/node_modules is a link, left as it is"
elif ! cmp -s contracts/package-lock.json "$stamp" 2>/dev/null; then
    say "installing npm packages of contracts/ (anvil, forge, cast, solc, solhint, OpenZeppelin)"
    (cd contracts && npm ci --no-audit --no-fund --loglevel=error)
    cp contracts/package-lock.json "$stamp"
else
    say "npm packages: nothing to do"
fi
