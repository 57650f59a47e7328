#!/usr/bin/env bash
# backup.sh TARGET_FOLDER [STATE_FOLDER]: copies everything that a network cannot make again: the database, then the
# blobs and epoch files that it names (STATE_FOLDER, default /var/lib/gym). Services may keep running. In this order
# every blob that the dump names exists, since blobs are written first and never changed, and the coordinator erases none
# meanwhile. Run it like database.sh. Copy keys and /etc/gym once, by hand, to another place.
set -euo pipefail
target=${1:?usage: backup.sh TARGET_FOLDER [STATE_FOLDER]}
state=${2:-/var/lib/gym}
database=${PGDATABASE:-gym}

as_owner=()
if [[ -z ${PGHOST:-} ]]; then
    export PGHOST=/var/run/postgresql PGUSER=postgres
    [[ $(id -u) != 0 ]] || as_owner=(runuser -u postgres --)
fi
umask 077
mkdir -p "$target"
# The lock of the coordinator's retention, held by this session until the copies are made: a pass that runs now ends
# before, and the next one comes after.
coproc retention { "${as_owner[@]}" psql --no-psqlrc -qtAX --dbname="$database"; }
echo "SELECT 'held' FROM pg_advisory_lock(hashtext('gym.coordinator.prune'), 0);" >&"${retention[1]}"
read -r held <&"${retention[0]}"
[[ $held == held ]]
stamp=$(date -u +%Y%m%dT%H%M%SZ)
"${as_owner[@]}" pg_dump --format=custom --dbname="$database" >"$target/.part"
mv "$target/.part" "$target/$database-$stamp.dump"
for folder in blobs epochs; do
    [[ -d $state/$folder ]] || continue
    mkdir -p "$target/$folder"
    # Names are roots or epoch numbers, so an existing file has the same content.
    cp -R --no-clobber "$state/$folder/." "$target/$folder/"
done
printf 'backup: %s\n' "$target/$database-$stamp.dump"
