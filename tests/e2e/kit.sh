#!/bin/bash
# make kit: where there is no Docker, the cluster of ../shared is booted (and ended, if it was not up
# before), a release on it is judged, and one is broken some times.
set -euo pipefail
cd "$(dirname "$0")/../.."

KIT=${KIT:-../shared/cluster}
FAULTS=${FAULTS:-mix}
SEED=${SEED:-20261122}
KILLS=${KILLS:-3}

"$KIT/prepare.sh"
if [ ! -f "${KF_HOME:-$HOME/.cache/kf}/run/admin.conf" ]; then
    trap '"$KIT/cluster.sh" down' EXIT
fi
"$KIT/cluster.sh" up 3
status=0
make e2e || status=$?
make chaos SCENARIO="$FAULTS" SEED="$SEED" KILLS="$KILLS" || status=$?
exit "$status"
