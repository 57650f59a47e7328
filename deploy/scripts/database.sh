#!/usr/bin/env bash
# database.sh SECRETS_FOLDER: creates the database, updates its schema, and creates one login user for each service,
# one for auditors and one for evaluators, each with the rights of its group and nothing else. Run it as the database's
# superuser: as root for the local server (it then becomes postgres), else with PGHOST, PGPORT, PGUSER and PGPASSWORD set.
# Idempotent: run it again after an update, with the services stopped. Passwords are created once and kept in
# SECRETS_FOLDER/db-*, mode 0600.
set -euo pipefail
secrets=${1:?usage: database.sh SECRETS_FOLDER}
database=${PGDATABASE:-gym}
gym=${GYM:-$(cd "$(dirname "$0")/../../.." && pwd)/bin/gym}

say() { printf 'database: %s\n' "$*"; }
# If no server is named, use the local one through its socket, where postgres needs no password.
as_owner=()
if [[ -z ${PGHOST:-} ]]; then
    export PGHOST=/var/run/postgresql PGUSER=postgres
    [[ $(id -u) != 0 ]] || as_owner=(runuser -u postgres --)
fi
export PGDATABASE=$database PGOPTIONS='-c client_min_messages=warning'
query() { "${as_owner[@]}" psql -X -q -v ON_ERROR_STOP=1 "$@"; }

if [[ -z $(query -d postgres -At -c "SELECT 1 FROM pg_database WHERE datname = '${database//\'/\'\'}'") ]]; then
    say "creating $database"
    query -d postgres -v name="$database" <<<'CREATE DATABASE :"name" TEMPLATE template0 ENCODING '"'UTF8'"
fi
say "applying migrations"
"${as_owner[@]}" "$gym" operator migrate

mkdir -p "$secrets"
# Of the blob store, which coordinator and API share. Never replaced: the blobs would be lost.
[[ -s $secrets/blob.key ]] || (umask 077 && openssl rand -hex 32 >"$secrets/blob.key")
for service in coordinator rewards api auditor evaluator; do
    file=$secrets/db-$service
    [[ -s $file ]] || (umask 077 && openssl rand -hex 24 >"$file")
    # The password appears neither in the arguments of a process nor in the server's log.
    query <<SQL
SET log_statement = 'none';
SET log_min_error_statement = 'panic';
SET password_encryption = 'scram-sha-256';
DO \$\$ BEGIN
    CREATE ROLE gym_${service}_login LOGIN;
EXCEPTION WHEN duplicate_object THEN NULL;
END \$\$;
ALTER ROLE gym_${service}_login LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS
    PASSWORD '$(<"$file")';
GRANT gym_$service TO gym_${service}_login;
SQL
    say "gym_${service}_login has the rights of gym_$service, its password is in $file"
done
query <<SQL
REVOKE ALL ON DATABASE "$database" FROM PUBLIC;
GRANT CONNECT ON DATABASE "$database" TO gym_coordinator, gym_rewards, gym_api, gym_auditor, gym_evaluator;
SQL
say "done"
