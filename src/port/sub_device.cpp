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
    tenant++;
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
    if (next != State::kStarted)
        link_.end();
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
    const bool kernel_link = !link_events_ && info.if_index != 0;
    // pairs: sub-carrier (SubDevice::kernel_says_down).
    carrier_.store(!kernel_link || netdev_carrier(info.if_index).value_or(true), std::memory_order_relaxed);
    // pairs: sub-kernel-link (SubDevice::on_carrier, SubDevice::watch_carrier). A bool by itself, like the netdev's
    // number.
    kernel_link_.store(kernel_link, std::memory_order_relaxed);
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
    lives++;
    move_to(State::kProbed);
    return {};
}

void SubDevice::leave(abi::Ethdev &ethdev) {
    // pairs: sub-netdev (SubDevice::netdev).
    netdev_.store(0, std::memory_order_relaxed);
    removals++;
    announced = false;
    sent_off = {};
    if ((flags() & kGone) != 0)
        link_.gone(Clock::now());
    if (touchable())
        hand_back(ethdev);
    // pairs: sub-pci (SubDevice::is_pci, SubDevice::has_vanished). Only now: a PCI device that is gone is not counted.
    pci_.store(0, std::memory_order_release);
    leaving = true;
    if (released())
        left();
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
