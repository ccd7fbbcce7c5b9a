#!/bin/bash
# make kit: where there is no Docker, the cluster of ../shared is booted (and ended, if it was not up
# before), a release on it is judged, and one is broken some times. `kit.sh prepare` only builds what
# that needs.
set -euo pipefail
cd "$(dirname "$0")/../.."

KIT=${KIT:-../shared/cluster}
FAULTS=${FAULTS:-mix}
SEED=${SEED:-20261122}
KILLS=${KILLS:-3}
IMAGES_GB=25

"$KIT/prepare.sh"
if [ "${1:-}" = prepare ]; then exit; fi
home=${KF_HOME:-$HOME/.cache/kf}
# Where they find no room, it is some later command that fails.
free_gb=$(($(df --output=avail "$home" | tail -n 1) >> 20))
if ((free_gb < IMAGES_GB)); then
    echo "kit: only $free_gb GB are free below $home; images take some $IMAGES_GB on three nodes" >&2
fi
# Numbers in stale files may be other processes' by now.
forget_stale() {
    local file
    for file in "$home"/run/pid/*; do
        tr '\0' ' ' <"/proc/$(cat "$file" 2>/dev/null)/cmdline" 2>/dev/null | grep -qe "$home" -e cluster.sh || rm -f "$file"
    done
}
is_up() { "$home/bin/kubectl" --kubeconfig "$home/run/admin.conf" --request-timeout 3s get --raw /readyz >/dev/null 2>&1; }
if ! is_up; then
    if [ -d "$home/run" ]; then # left by a run that was killed: nodes would start with its pods
        forget_stale
        "$KIT/cluster.sh" down
    fi
    trap '"$KIT/cluster.sh" down' EXIT
fi
"$KIT/cluster.sh" up 3
status=0
make e2e || status=$?
make chaos SCENARIO="$FAULTS" SEED="$SEED" KILLS="$KILLS" || status=$?
exit "$status"
