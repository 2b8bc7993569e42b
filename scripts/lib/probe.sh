# SPDX-License-Identifier: BSD-3-Clause
# What this machine allows. Sourced by scripts/run-in-env; each check tries the thing itself and leaves nothing behind.

# Prints why this is not root.
hf_probe_root() {
    [[ $(id -u) == 0 ]] || echo "root: this is uid $(id -u)"
}

# Prints why there are no network namespaces.
hf_probe_netns() {
    local why
    why=$(unshare --net --mount true 2>&1) || echo "network namespaces: ${why:-unshare failed}"
}

# Prints why there is no tun. Opening the device also loads the module where that can be done.
hf_probe_tun() {
    if [[ ! -e /dev/net/tun ]]; then
        echo "tun: there is no /dev/net/tun (modprobe tun)"
    elif ! (exec 9<>/dev/net/tun) 2>/dev/null; then
        echo "tun: /dev/net/tun cannot be opened"
    fi
}

# Prints why there are no hugepages: neither reserved ones nor the right to reserve some.
hf_probe_hugepages() {
    if ! grep -qw hugetlbfs /proc/filesystems; then
        echo "hugepages: this kernel has no hugetlbfs"
    elif grep -q '^HugePages_Free: *[1-9]' /proc/meminfo; then
        :
    elif ! (: >>/proc/sys/vm/nr_hugepages) 2>/dev/null; then
        echo "hugepages: none is free, and /proc/sys/vm/nr_hugepages cannot be written"
    fi
}

# Exports HOLDFAST_HAVE_<what> for root, netns, tun and hugepages, says what is missing, and fails in CI if anything is.
hf_probe() {
    local what why missing=()
    for what in root netns tun hugepages; do
        why=$(hf_probe_$what)
        if [[ -z $why ]]; then
            export "HOLDFAST_HAVE_${what^^}=1"
        else
            export "HOLDFAST_HAVE_${what^^}=0"
            missing+=("$why")
        fi
    done
    ((${#missing[@]})) || return 0
    for why in "${missing[@]}"; do
        hf_say "not available here: $why"
    done
    [[ ${CI:-} != true ]] || hf_die "CI must have all of them, or tests would be skipped"
}
