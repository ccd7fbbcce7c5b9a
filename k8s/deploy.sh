#!/bin/bash
# make deploy, make undeploy: Tidegate with Kafka, MinIO and live orders on the cluster that kubectl
# finds, or on one that kind or minikube makes here.
#
#     k8s/deploy.sh up | down | status
#
# NAMESPACE (tidegate), RELEASE (tidegate), PROFILE (the first values file: everything, with live
# orders), VALUES (more values files), TAG, KAFKA_TAG, MINIO_TAG (of the images that are built; they
# change with what those are made of), REGISTRY (nothing is built: images are there).
set -euo pipefail
cd "$(dirname "$0")/.."

NAMESPACE=${NAMESPACE:-tidegate}
RELEASE=${RELEASE:-tidegate}
PROFILE=${PROFILE:-charts/tidegate/values-demo.yaml}
VALUES=${VALUES:-}
CONTEXT=
REGISTRY=${REGISTRY:-}
CLUSTER=tidegate
KIT=${KIT:-../shared/cluster/cluster.sh}
KIT_HOME=${KF_HOME:-$HOME/.cache/kf}

say() { printf '%s\n' "$*"; }
fail() { printf 'deploy: %s\n' "$*" >&2; exit 1; }
has() { type -P "$1" >/dev/null 2>&1; }
kubectl() { command kubectl ${CONTEXT:+--context "$CONTEXT"} "$@"; }
helm() { command helm ${CONTEXT:+--kube-context "$CONTEXT"} "$@"; }

# Who makes images and puts them on the nodes: kit, kind, minikube or registry.
find_cluster() {
    if [ -f "$KIT_HOME/run/admin.conf" ] && [ "${KUBECONFIG:-$KIT_HOME/run/admin.conf}" = "$KIT_HOME/run/admin.conf" ]; then
        eval "$("$KIT" env)"
    fi
    if [ "${KUBECONFIG:-}" = "$KIT_HOME/run/admin.conf" ]; then
        BUILDER=kit
    elif [ -n "$REGISTRY" ]; then
        BUILDER=registry
    elif has kind && kind get clusters 2>/dev/null | grep -qx "$CLUSTER"; then
        BUILDER=kind
        CONTEXT=kind-$CLUSTER
    elif has kubectl && [ "$(kubectl config current-context 2>/dev/null)" = minikube ]; then
        BUILDER=minikube
    elif has kubectl && kubectl version --request-timeout 5s >/dev/null 2>&1; then
        fail "the cluster of $(kubectl config current-context) takes images from a registry only:
        push them there (k8s/images) and give REGISTRY=HOST/PATH"
    else
        BUILDER=
    fi
    has helm || fail "there is no helm on the PATH (https://helm.sh/docs/intro/install)"
}

make_cluster() {
    if has kind; then
        say "making a cluster with kind"
        kind create cluster --name "$CLUSTER" --config k8s/kind.yaml --wait 2m
        BUILDER=kind
        CONTEXT=kind-$CLUSTER
    elif has minikube; then
        say "making a cluster with minikube"
        minikube start --cpus 2 --memory 6g
        BUILDER=minikube
    else
        fail "there is no cluster: set KUBECONFIG, or install kind (https://kind.sigs.k8s.io) or minikube"
    fi
}

# NAME CONTEXT DOCKERFILE: builds an image and puts it on the nodes, unless all of them have it.
image() {
    local name=$1 context=$2 dockerfile=$3 nodes
    [ "$BUILDER" != registry ] || return 0
    nodes=$(kubectl get nodes -o jsonpath='{range .items[*]}{.status.images[*].names}{"\n"}{end}')
    if ! grep -qvF "/$name\"" <<< "$nodes"; then
        say "nodes have $name"
        return
    fi
    case $BUILDER in
    kit) # its base images are stand-ins, with digests of their own
        sed 's/@sha256:[0-9a-f]*//' "$dockerfile" > "$KIT_HOME/Dockerfile"
        "$KIT" image "$name" "$context" "$KIT_HOME/Dockerfile"
        rm -f "$KIT_HOME"/build/*.tar # what the nodes have by now: else each version leaves a gigabyte
        ;;
    kind) docker build --quiet -t "$name" -f "$dockerfile" "$context" && kind load docker-image --name "$CLUSTER" "$name" ;;
    minikube) minikube image build -t "$name" -f "${dockerfile#"$context"/}" "$context" ;;
    esac
}

# What an image is made of, in twelve digits: a changed image has another tag, so that nodes and
# `helm upgrade` see that it is another.
digest() { find "$@" -type f ! -name '*.pyc' ! -path '*/__pycache__/*' -print0 | sort -z | xargs -0 sha256sum | sha256sum | cut -c1-12; }

build() {
    TAG=${TAG:-$(digest operators pyproject.toml requirements.txt requirements-dev.txt k8s/images/tidegate)}
    KAFKA_TAG=${KAFKA_TAG:-4.3.0-$(digest k8s/images/kafka)}
    MINIO_TAG=${MINIO_TAG:-20260212-$(digest k8s/images/minio)}
    image "tidegate:$TAG" . k8s/images/tidegate/Dockerfile
    image "tidegate-kafka:$KAFKA_TAG" k8s/images/kafka k8s/images/kafka/Dockerfile
    image "tidegate-minio:$MINIO_TAG" k8s/images/minio k8s/images/minio/Dockerfile
    if [ "$BUILDER" = kit ]; then # its nodes reach no registry
        PROMETHEUS_TAG=2.42-$(digest k8s/images/prometheus)
        image "tidegate-prometheus:$PROMETHEUS_TAG" k8s/images/prometheus k8s/images/prometheus/Dockerfile
    fi
}

install() {
    local arguments=(--values "$PROFILE") file
    for file in $VALUES; do arguments+=(--values "$file"); done
    local prefix=${REGISTRY:+$REGISTRY/}
    arguments+=(--set "image.repository=${prefix}tidegate" --set-string "image.tag=$TAG")
    arguments+=(--set "kafka.image.repository=${prefix}tidegate-kafka" --set-string "kafka.image.tag=$KAFKA_TAG")
    arguments+=(--set "minio.image.repository=${prefix}tidegate-minio" --set-string "minio.image.tag=$MINIO_TAG")
    if [ "$BUILDER" = kit ]; then
        arguments+=(--set monitoring.prometheus.image.repository=tidegate-prometheus)
        arguments+=(--set-string "monitoring.prometheus.image.tag=$PROMETHEUS_TAG")
        arguments+=(--set grafana.enabled=false) # there is no image of it to be had
    fi
    helm upgrade "$RELEASE" charts/tidegate --install --namespace "$NAMESPACE" --create-namespace \
        "${arguments[@]}" --wait --timeout 10m
}

case ${1:-} in
up)
    find_cluster
    [ -n "$BUILDER" ] || make_cluster
    build
    install
    ;;
down)
    find_cluster
    [ -n "$BUILDER" ] || fail "there is no cluster"
    # Drivers first, while there is a broker and a store with which they can finish their epoch.
    drivers="app.kubernetes.io/instance=$RELEASE,app.kubernetes.io/component=driver"
    kubectl --namespace "$NAMESPACE" scale statefulset -l "$drivers" --replicas=0 >/dev/null 2>&1 || true
    kubectl --namespace "$NAMESPACE" wait pod -l "$drivers" --for=delete --timeout=90s >/dev/null 2>&1 || true
    helm uninstall "$RELEASE" --namespace "$NAMESPACE" --ignore-not-found --wait --timeout 5m
    kubectl delete namespace "$NAMESPACE" --ignore-not-found --timeout 5m
    ;;
status)
    find_cluster
    kubectl --namespace "$NAMESPACE" get pods -o wide
    kubectl --namespace "$NAMESPACE" logs --follow --tail 5 \
        -l "app.kubernetes.io/instance=$RELEASE,app.kubernetes.io/component=driver" --container driver
    ;;
*)
    sed -n '2,9s/^# \{0,1\}//p' "$0"
    exit 2
    ;;
esac
