// SPDX-License-Identifier: BSD-3-Clause
#include "port/sub_device.h"

#include "abi/ethdev.h"
#include "abi/events.h"
#include "abi/pci.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/state.h"
#include "port/device_source.h"
#include "port/device_text.h"
#include "port/netdev.h"
#include "port/settings.h"

#include <rte_debug.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_ether.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <net/if.h>

namespace holdfast {
namespace {

/// A failing plug-in is tried again after the poll interval, then after twice that, and so on up to this many times.
constexpr unsigned kMaxBackOff = 8;
constexpr std::chrono::seconds kLongestBackOff{60};

} // namespace

SubDevice::SubDevice(SubIndex index, std::string devargs, Selection &selection, Host &host,
                     std::unique_ptr<DeviceSource> source, Keeper *keeper, LinkRules link)
    : index_(index), source_(std::move(source)), devargs_(std::move(devargs)),
      always_(source_ == nullptr ? devargs_ : std::string()),
      name_(source_ != nullptr ? source_->name() : std::string(device_name(devargs_))), selection_(selection),
      host_(host), keeper_(keeper), link_rules_(link), link_(link.delays) {}

void SubDevice::move_in(std::string devargs, std::unique_ptr<DeviceSource> source) {
    {
        const std::lock_guard held(place_mutex_);
        always_ = source == nullptr ? devargs : std::string();
    }
    source_ = std::move(source);
    devargs_ = std::move(devargs);
    name_ = source_ != nullptr ? source_->name() : std::string(device_name(devargs_));
    link_ = LinkFilter(link_rules_.delays);
    clear_stats();
    plugins = removals = 0;
    vacant = asked = named = missed_turn = said_busy = false;
    reason.clear();
    retry_now();
}

std::unique_ptr<DeviceSource> SubDevice::move_out() {
    {
        const std::lock_guard held(place_mutex_);
        always_.clear();
    }
    devargs_.clear();
    name_.clear();
    reason.clear();
    vacant = true;
    dropped = removed_by_hand = false;
    return std::move(source_);
}

bool SubDevice::is_always(std::string_view subsystem, std::string_view kernel_name) const {
    const std::lock_guard held(place_mutex_);
    return !always_.empty() && (kernel_name.empty() || is_about(always_, subsystem, kernel_name));
}

void SubDevice::be(std::string devargs) {
    devargs_ = std::move(devargs);
    name_ = device_name(devargs_);
}

void SubDevice::lose(std::uint8_t how) noexcept {
    // pairs: sub-lost (SubDevice::open). Either open() sees this flag, or what follows comes after what it did.
    lost_.fetch_or(how, std::memory_order_seq_cst);
    shut();
    host_.wake();
}

void SubDevice::on_recovering() noexcept {
    trouble_.begin();
    shut();
    host_.wake();
}

void SubDevice::on_recovered() noexcept {
    trouble_.end();
    host_.wake();
}

void SubDevice::on_reset_wanted() noexcept {
    trouble_.want_reset();
    shut();
    host_.wake();
}

std::uint8_t SubDevice::flags() const noexcept {
    // pairs: sub-lost (SubDevice::lose).
    return lost_.load(std::memory_order_seq_cst);
}

bool SubDevice::lost() const noexcept {
    return flags() != 0;
}

bool SubDevice::on_detach() noexcept {
    if (!detaching())
        lose(kDetaching);
    return keeper_ == nullptr || keeper_->give_up(*this);
}

void SubDevice::on_detach_failed() noexcept {
    trouble_.give_back();
    // pairs: sub-lost (SubDevice::lose).
    lost_.fetch_and(static_cast<std::uint8_t>(~kDetaching), std::memory_order_seq_cst);
    host_.wake(); // which brings it up again
}

unsigned SubDevice::netdev() const noexcept {
    // pairs: sub-netdev (SubDevice::adopt, SubDevice::leave). A number by itself; a late answer is looked at again.
    return netdev_.load(std::memory_order_relaxed);
}

bool SubDevice::is_pci(std::string_view address) const noexcept {
    // pairs: sub-pci (SubDevice::adopt, SubDevice::leave). Like the netdev's.
    const std::uint64_t pci = pci_.load(std::memory_order_relaxed);
    return pci != 0 && pci == abi::pci_number(address);
}

bool SubDevice::has_vanished() const noexcept {
    std::array<char, IF_NAMESIZE> text{};
    if (const unsigned index = netdev();
        index != 0 && ::if_indextoname(index, text.data()) == nullptr && errno == ENXIO)
        return true;
    return pci_has_vanished();
}

bool SubDevice::pci_has_vanished() const noexcept {
    // pairs: sub-pci (SubDevice::adopt, SubDevice::leave). The folder was stored before the number.
    const std::uint64_t pci = pci_.load(std::memory_order_acquire);
    return pci != 0 && abi::pci_incarnation(pci) != pci_folder_.load(std::memory_order_relaxed);
}

void SubDevice::give_news() noexcept {
    // pairs: sub-news (SubDevice::take_news). Before the host is woken, which then sees it.
    news_.store(true, std::memory_order_release);
}

bool SubDevice::take_news() noexcept {
    // pairs: sub-news (SubDevice::give_news).
    return news_.exchange(false, std::memory_order_acquire);
}

void SubDevice::open() noexcept {
    door_.gate.open();
    selection_.gain(index_);
    if (excused()) // meanwhile: the event may have shut the door before we opened it
        shut();
}

void SubDevice::shut() noexcept {
    selection_.lose(index_);
    door_.gate.close();
}

void SubDevice::move_to(State next) noexcept {
    RTE_ASSERT(may_move(state_, next));
    state_ = next;
}

Status SubDevice::adopt(abi::Ethdev &ethdev, PortId port, bool used) {
    rte_eth_dev_info info{};
    if (const int rc = ethdev.info(port, info); rc != 0)
        return {rc, "ask a sub-device what it can do"};
    // ethdev divides by these when a queue is set up. The port has to come up without such a one.
    if (info.rx_desc_lim.nb_align == 0 || info.tx_desc_lim.nb_align == 0)
        return {-EINVAL, "use a sub-device that gives 0 as the unit of its ring sizes"};
    rte_ether_addr mac{};
    if (const int rc = ethdev.mac(port, mac); rc != 0)
        return {rc, "ask a sub-device for its MAC address"};
    info_ = info;
    own_mac_ = mac;
    abi::PortStats stats{};
    (void)ethdev.stats(port, stats); // a device without counters counts from zero
    counters_.begin(stats);
    counted_out_ = counted_last_ = seen_up_ = false;

    port_ = port;
    forget(ethdev);
    if (std::uint16_t mtu = 0; ethdev.mtu(port, mtu) == 0)
        has_.mtu = mtu;
    if (const int mask = ethdev.vlan_offload(port); mask >= 0)
        has_.vlan_offload = mask;
    own_ = {};
    own_.default_mac = own_mac_;
    own_.promiscuous = has_.promiscuous;
    own_.allmulticast = has_.allmulticast;
    own_.mtu = has_.mtu;
    own_flags_ = netdev_flags(info.if_index);
    own_netdev_mtu_ = netdev_mtu(info.if_index);
    if (used)
        inherit(ethdev.leftovers(port));
    // pairs: sub-lost (SubDevice::lose): nobody can lose it before listen().
    lost_.store(0, std::memory_order_seq_cst);
    trouble_.clear();
    stale = false;
    said_trouble = false;
    // pairs: sub-netdev (SubDevice::netdev).
    netdev_.store(info.if_index, std::memory_order_relaxed);
    link_events_ = info.dev_flags != nullptr && (*info.dev_flags & RTE_ETH_DEV_INTR_LSC) != 0;
    // pairs: sub-kernel-link (SubDevice::on_carrier). A bool by itself, like the netdev's number.
    kernel_link_.store(!link_events_ && info.if_index != 0, std::memory_order_relaxed);
    const std::uint64_t pci = abi::pci_number(info.device);
    pci_folder_.store(abi::pci_incarnation(pci), std::memory_order_relaxed);
    // pairs: sub-pci (SubDevice::is_pci, SubDevice::has_vanished).
    pci_.store(pci, std::memory_order_release);
    abi::listen(port, *this);
    if (ethdev.is_removed(port)) // between its probe and listen()
        lose(kGone);
    said_busy = false;
    announced = false;
    plugins++;
    move_to(State::kProbed);
    return {};
}

void SubDevice::hand_back(abi::Ethdev &ethdev) {
    if (!counted_last_)
        count(ethdev);
    if ((flags() & kGone) != 0)
        return;
    Settings before = has_;
    before.macs = {}; // lists, and what its next owner configures anyway, go with the port
    before.vlans = {};
    before.mc_list.reset();
    before.second_hand = false;
    // What somebody else did to the interface behind it meanwhile is his affair.
    const unsigned ours = (has_.promiscuous != own_.promiscuous ? unsigned{IFF_PROMISC} : 0U) |
                          (has_.allmulticast != own_.allmulticast ? unsigned{IFF_ALLMULTI} : 0U) |
                          (has_.link_up ? unsigned{IFF_UP} : 0U);
    const bool mtu = has_.mtu != own_.mtu;
    if (has_.link_up)
        own_.link_up = true; // as a new device has it
    for (const Change &c : own_.missing_from(before))
        if (holdfast::apply(ethdev, port_, c) == 0) // if not, it is no worse
            has_.record(c);
    if (own_flags_ && ours != 0)
        (void)set_netdev_flags(info_.if_index, ours, *own_flags_);
    // A driver may refuse the MTU that its interface had before it came.
    if (own_netdev_mtu_ && mtu && netdev_mtu(info_.if_index) != own_netdev_mtu_)
        (void)set_netdev_mtu(info_.if_index, *own_netdev_mtu_);
}

void SubDevice::leave(abi::Ethdev &ethdev) {
    // pairs: sub-netdev (SubDevice::netdev).
    netdev_.store(0, std::memory_order_relaxed);
    removals++;
    announced = false;
    if (touchable())
        hand_back(ethdev);
    // pairs: sub-pci (SubDevice::is_pci, SubDevice::has_vanished). Only now: a PCI device that is gone is not counted.
    pci_.store(0, std::memory_order_release);
    leaving = true;
    if (released())
        left();
}

void SubDevice::forget(abi::Ethdev &ethdev) {
    has_ = {};
    if (rte_ether_addr mac{}; ethdev.mac(port_, mac) == 0)
        has_.default_mac = mac;
    has_.promiscuous = ethdev.promiscuous(port_);
    has_.allmulticast = ethdev.allmulticast(port_);
}

void SubDevice::inherit(const abi::Ethdev::Leftovers &from) {
    has_.second_hand = true;
    has_.vlans = from.vlans;
    for (const auto &[mac, pools] : from.macs)
        for (std::uint32_t pool = 0; pool < RTE_ETH_64_POOLS; pool++)
            if ((pools >> pool & 1U) != 0)
                has_.macs.add({mac, pool});
}

void SubDevice::left() noexcept {
    // What we hear of it until now tells whose removal it was.
    abi::unlisten(port_, *this);
    if (released() && detaching())
        removed_by_hand = true;
    leaving = false;
    closing = false;
    port_ = {};
    move_to(State::kAbsent);
}

Outcome SubDevice::judge(abi::Ethdev &ethdev, int rc) noexcept {
    if (rc >= 0)
        return Outcome::kDone;
    if (excused())
        return Outcome::kVanished;
    if (rc == -ENOTSUP || rc == -ENOSYS || rc == -EOPNOTSUPP)
        return Outcome::kLacking;
    // These two are also plain refusals of a device that is there: ask it.
    if ((rc == -ENODEV || rc == -EIO) && ethdev.is_removed(port_)) {
        lose(kGone);
        return Outcome::kVanished;
    }
    return Outcome::kRefused;
}

Outcome SubDevice::apply(abi::Ethdev &ethdev, const Change &change, int &rc) {
    rc = holdfast::apply(ethdev, port_, change);
    Outcome outcome = judge(ethdev, rc);
    // A virtual function that is not trusted. It joins all the same; not so with a wrong MAC address, which would keep
    // it from receiving anything.
    if (outcome == Outcome::kRefused && rc == -EPERM &&
        (std::holds_alternative<Promiscuous>(change) || std::holds_alternative<Allmulticast>(change)))
        outcome = Outcome::kLacking;
    if (outcome == Outcome::kDone)
        has_.record(change);
    return outcome;
}

void SubDevice::forget_rss() noexcept {
    has_.rss.reset();
    has_.reta.clear();
}

void SubDevice::count(abi::Ethdev &ethdev) {
    abi::PortStats now{};
    if (!reads_as_ones() && ethdev.stats(port_, now) == 0 && !reads_as_ones())
        take_in(now);
}

void SubDevice::take_in(const abi::PortStats &now) {
    if (!std::exchange(counted_out_, false))
        counters_.update(now);
}

void SubDevice::count_last(const abi::PortStats &last) {
    counted_last_ = true;
    take_in(last);
}

bool SubDevice::reads_as_ones() const noexcept {
    // pairs: sub-pci (SubDevice::adopt). The same thread, or one behind the mutex.
    const std::uint64_t pci = pci_.load(std::memory_order_relaxed);
    if (pci == 0 || pci_has_vanished())
        return pci != 0;
    const abi::PciHealth health = abi::pci_health(pci);
    // vfio asks for one that still works.
    return (flags() & kGone) != 0 ? health != abi::PciHealth::kAnswers : health == abi::PciHealth::kSilent;
}

Status SubDevice::rss_key(abi::Ethdev &ethdev, std::vector<std::uint8_t> &key) {
    key.assign(info_.hash_key_size, 0);
    rte_eth_rss_conf conf{};
    conf.rss_key = key.data();
    conf.rss_key_len = info_.hash_key_size;
    const int rc = key.empty() ? -ENOTSUP : ethdev.rss(port_, conf);
    if (rc != 0 || conf.rss_key_len != info_.hash_key_size)
        key.clear();
    return judge(ethdev, rc) == Outcome::kRefused ? Status{rc, "read the hash key of a sub-device"} : Status{};
}

Status SubDevice::reta(abi::Ethdev &ethdev, std::vector<std::uint16_t> &table) {
    table.assign(info_.reta_size, 0);
    const int rc = table.empty() ? -ENOTSUP : ethdev.reta(port_, table);
    if (rc != 0)
        table.clear();
    return judge(ethdev, rc) == Outcome::kRefused ? Status{rc, "read the redirection table of a sub-device"} : Status{};
}

Status SubDevice::learn(abi::Ethdev &ethdev, const Change &change) {
    if (std::holds_alternative<Rss>(change) && !has_.rss) {
        rte_eth_rss_conf conf{};
        const int rc = ethdev.rss(port_, conf);
        if (judge(ethdev, rc) == Outcome::kRefused)
            return {rc, "read the hash functions of a sub-device"};
        Rss now{.functions = conf.rss_hf, .algorithm = conf.algorithm, .key = {}};
        if (Status s = rss_key(ethdev, now.key); !s.ok())
            return s;
        if (rc == 0)
            has_.rss = std::move(now);
    }
    if (std::holds_alternative<Reta>(change) && has_.reta.empty())
        return reta(ethdev, has_.reta);
    return {};
}

Status SubDevice::read_stats(abi::Ethdev &ethdev) {
    if (!touchable() || lost()) // the host thread reads its last ones, for that may take long
        return {};
    abi::PortStats now{};
    const int rc = ethdev.stats(port_, now);
    if (reads_as_ones()) { // nobody has told us yet, and all ones are no counters
        lose(kGone);
        return {};
    }
    if (rc == 0)
        counters_.update(now);
    return judge(ethdev, rc) == Outcome::kRefused ? Status{rc, "read the counters of a sub-device"} : Status{};
}

Status SubDevice::restart_stats(abi::Ethdev &ethdev) {
    if (state_ == State::kAbsent || leaving || !touchable())
        return {};
    if (lost()) {
        counted_out_ = true;
        return {};
    }
    // A device that cannot reset just goes on; we count from what it shows.
    if (usable())
        if (const int rc = ethdev.stats_reset(port_); judge(ethdev, rc) == Outcome::kRefused)
            return {rc, "reset the counters of a sub-device"};
    abi::PortStats now{};
    const int rc = ethdev.stats(port_, now);
    if (rc == 0)
        counters_.begin(now);
    return judge(ethdev, rc) == Outcome::kRefused ? Status{rc, "read the counters of a sub-device"} : Status{};
}

void SubDevice::put_off(const Status &why, Clock::time_point now, std::chrono::milliseconds poll) {
    put_off(std::string("cannot ") + why.what() + ": " + rte_strerror(-why.code()), now, poll);
}

void SubDevice::put_off(std::string why, Clock::time_point now, std::chrono::milliseconds poll) {
    const unsigned times = std::min(1U << std::min(failures_, 10U), kMaxBackOff);
    failures_++;
    next_try = now + std::min<Clock::duration>(poll * times, std::max<Clock::duration>(kLongestBackOff, poll));
    reason = std::move(why);
}

void SubDevice::retry_now() noexcept {
    failures_ = 0;
    next_try = {};
}

} // namespace holdfast
