# SPDX-License-Identifier: BSD-3-Clause
# What the scripts share. Sourced by bash; needs nothing but coreutils and util-linux.
#
# Variables that a user may set:
#   HOLDFAST_ENV     native, root or (default) auto: native where apt has DPDK >= 24.11, else a Debian root
#   HOLDFAST_ROOT    the folder that keeps the Debian roots (default: $XDG_CACHE_HOME/holdfast or ~/.cache/holdfast)
#   HOLDFAST_SUITE   the Debian release to build for (default: trixie, or what this host is); --suite NAME sets it
# Variables that scripts/run-in-env sets for the command:
#   HOLDFAST_IN_ENV  the environment's name, part of the build folder's name
#   HOLDFAST_HAVE_ROOT, HOLDFAST_HAVE_NETNS, HOLDFAST_HAVE_TUN, HOLDFAST_HAVE_HUGEPAGES   1 or 0

HF_CHECKOUT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
HF_SUITE=${HOLDFAST_SUITE:-trixie}
HF_MIN_DPDK=24.11
HF_ARM64=/var/lib/holdfast/arm64 # DPDK's headers for the cross compiler, inside the environment

hf_say() { printf 'holdfast: %s\n' "$*" >&2; }

hf_die() {
    printf 'holdfast: error: %s\n' "$*" >&2
    exit 1
}

# Prints the comment at the head of a script, which is its manual.
hf_usage() {
    sed -n '3,/^[^#]/ s/^# \{0,1\}//p' "$1"
    exit 0
}

# Are we inside the environment already (also natively, once run-in-env has looked at the machine)?
hf_inside() { [[ -n ${HOLDFAST_IN_ENV:-} ]]; }

# hf_use_suite NAME: what the option --suite means, here and in the scripts that this one starts.
hf_use_suite() {
    [[ $1 =~ ^[a-z][a-z0-9.-]*$ ]] || hf_die "--suite needs the name of a Debian release, such as trixie; not '$1'"
    ! hf_inside || [[ $HOLDFAST_IN_ENV == "$1" ]] || hf_die "--suite $1: already inside '$HOLDFAST_IN_ENV'"
    export HOLDFAST_SUITE=$1
    HF_SUITE=$1
}

# The packages of scripts/lib/packages, one a line, sorted.
hf_packages() { sed -e 's/#.*//' -e 's/[[:space:]]//g' -e '/^$/d' "$HF_CHECKOUT/scripts/lib/packages" | LC_ALL=C sort -u; }

# The packages of scripts/lib/vm-packages, one a line, and whether with what they need.
hf_vm_packages() { sed -e 's/#.*//' -e 's/[[:space:]]*$//' -e '/^$/d' "$HF_CHECKOUT/scripts/lib/vm-packages"; }

# The folder, inside the environment, where scripts/setup --vm unpacks them. The recipe is part of its key, too.
hf_vm_kit() {
    local key
    key=$({
        hf_vm_packages
        cat "$HF_CHECKOUT/scripts/lib/vm-kit"
    } | sha256sum | cut -c1-12)
    printf '/var/lib/holdfast/vm-%s\n' "$key"
}

# Is this host of another Debian release than the one that was asked for?
hf_other_suite() {
    [[ -n ${HOLDFAST_SUITE:-} ]] && ! grep -qxF "VERSION_CODENAME=$HOLDFAST_SUITE" /etc/os-release
}

# Is a new enough DPDK installed on this host?
hf_host_has_dpdk() {
    local version
    version=$(dpkg-query -W -f '${Version}' libdpdk-dev 2>/dev/null || true)
    [[ -n $version ]] && dpkg --compare-versions "$version" ge "$HF_MIN_DPDK"
}

# Could apt install one? (Takes about a second.)
hf_apt_has_dpdk() {
    local version
    command -v apt-cache >/dev/null || return 1
    version=$(LC_ALL=C apt-cache policy libdpdk-dev 2>/dev/null | sed -n 's/^ *Candidate: //p')
    [[ -n $version && $version != "(none)" ]] && dpkg --compare-versions "$version" ge "$HF_MIN_DPDK"
}

# Sets HF_MODE to native or root. A root that was made already answers the question without asking apt again.
hf_pick_mode() {
    case ${HOLDFAST_ENV:-auto} in
    native | root) HF_MODE=${HOLDFAST_ENV} ;;
    auto)
        hf_pick_root
        if hf_other_suite; then
            HF_MODE=root
        elif hf_host_has_dpdk; then
            HF_MODE=native
        elif hf_root_ready || ! hf_apt_has_dpdk; then
            HF_MODE=root
        else
            HF_MODE=native
        fi
        ;;
    *) hf_die "HOLDFAST_ENV is '$HOLDFAST_ENV'; it must be native, root or auto" ;;
    esac
}

# Sets HF_ROOTS (the folder of all roots), HF_ROOT (the one for this suite and package list) and HF_LOCK.
hf_pick_root() {
    HF_ROOTS=${HOLDFAST_ROOT:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/holdfast}
    HF_ROOTS=$(realpath -m -- "$HF_ROOTS")
    case $HF_ROOTS/ in
    "$HF_CHECKOUT"/*) hf_die "HOLDFAST_ROOT ($HF_ROOTS) lies inside the checkout; it must be outside" ;;
    esac
    local key
    key=$({
        echo "recipe 2 $HF_SUITE"
        hf_packages
    } | sha256sum | cut -c1-12)
    HF_ROOT=$HF_ROOTS/$HF_SUITE-$key
    HF_LOCK=$HF_ROOT.lock
}

# A root is complete when it has its final name: it is built under another one.
hf_root_ready() { [[ -d $HF_ROOT/usr ]]; }

# hf_build_dir PRESET
hf_build_dir() { printf '%s/build/%s-%s\n' "$HF_CHECKOUT" "$HOLDFAST_IN_ENV" "$1"; }

# hf_missing_packages: those of the list that this system lacks, one a line.
hf_missing_packages() {
    local package
    while read -r package; do
        [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) == installed ]] || echo "$package"
    done < <(hf_packages)
}

# hf_remove_tree DIR: removes a Debian root and can reach nothing that is mounted below it, whoever mounted it.
hf_remove_tree() {
    local dir=$1
    [[ -d $dir ]] || return 0
    if cut -d ' ' -f 5 /proc/self/mountinfo | grep -q -F -e "$dir/"; then
        hf_say "error: something is mounted below $dir; unmount it first"
        return 1
    fi
    rm -rf --one-file-system -- "$dir"
}
