// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "abi/ethdev.h"
#include "abi/events.h"
#include "base/guard.h"
#include "base/ids.h"
#include "base/link_filter.h"
#include "base/result.h"
#include "base/selection.h"
#include "base/state.h"
#include "base/trouble.h"
#include "port/device_source.h"
#include "port/host.h"
#include "port/settings.h"
#include "port/stats.h"

#include <rte_ethdev.h>
#include <rte_ether.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast {

using Clock = std::chrono::steady_clock;

/// What became of one call to a sub-device.
enum class Outcome : std::uint8_t {
    kDone,
    kLacking,  ///< it has no such feature
    kVanished, ///< it is gone or going: not an error of the call
    kRefused,  ///< it is there and said no
};

/// What a sub-device's link is good for.
struct LinkRules {
    bool counts = true; ///< without it, it gets no traffic
    LinkDelays delays{};
};

/// One sub-device of a virtual port. The object lives as long as the port; the device behind it comes and goes.
///
/// The event side (`on_...`, `lose`, `lost`) is for any thread and takes no lock. All else belongs under the port's
/// mutex, except the door, which lcores read.
class SubDevice final : public abi::PortListener {
  public:
    /// With a source its devargs are what that says, so none are given.
    SubDevice(SubIndex index, std::string devargs, Selection &selection, Host &host,
              std::unique_ptr<DeviceSource> source = nullptr, Keeper *keeper = nullptr, LinkRules link = {});
    virtual ~SubDevice() = default;
    SubDevice(const SubDevice &) = delete;
    SubDevice &operator=(const SubDevice &) = delete;

    // ---- events, any thread
    void on_removal() noexcept override { lose(kGone); }
    void on_destroy() noexcept override { lose(kGone | kReleased); }
    void on_link_change(bool up) noexcept override;
    void on_recovering() noexcept override;
    void on_recovered() noexcept override;
    void on_recovery_failed() noexcept override { lose(kGone); }
    void on_reset_wanted() noexcept override;
    bool on_detach() noexcept override;
    void on_detach_failed() noexcept override;

    static constexpr std::uint8_t kGone = 1;      ///< the device has gone or is about to
    static constexpr std::uint8_t kReleased = 2;  ///< its port id is not ours any more: never to be touched again
    static constexpr std::uint8_t kDetaching = 4; ///< somebody else takes it off the bus: not to be touched meanwhile

    /// The kernel says of the interface behind it that its carrier is there, or not. The driver's own word goes first.
    void on_carrier(bool up) noexcept;

    /// Takes it out of the traffic at once: the gate closes and `active` moves. The host thread does the rest.
    void lose(std::uint8_t how) noexcept;
    [[nodiscard]] bool lost() const noexcept;
    [[nodiscard]] bool released() const noexcept { return (flags() & kReleased) != 0; }
    /// Somebody else is taking it off the bus, or has done so.
    [[nodiscard]] bool detaching() const noexcept { return (flags() & kDetaching) != 0; }
    /// May calls be made on its port, if it has one? (A call that began before is waited for, by the port's mutex.)
    [[nodiscard]] bool touchable() const noexcept { return (flags() & (kReleased | kDetaching)) == 0; }
    /// The netdev behind it, 0 if there is none. Lock-free, for the watch.
    [[nodiscard]] unsigned netdev() const noexcept;
    /// Is it this PCI device ("0000:01:00.0")? Lock-free.
    [[nodiscard]] bool is_pci(std::string_view address) const noexcept;
    /// Is what it stands for gone from the system, though nobody said so? Lock-free.
    [[nodiscard]] bool has_vanished() const noexcept;
    /// The same for PCI devices alone.
    [[nodiscard]] bool pci_has_vanished() const noexcept;
    /// Is the interface behind it, if there is one, ready to carry traffic? Asks the system.
    [[nodiscard]] bool link_is_ready() noexcept;
    /// What it waits for may be there.
    void give_news() noexcept;
    /// Was there news since the last call?
    bool take_news() noexcept;

    // ---- traffic, control side
    /// Lets traffic in, unless it was lost meanwhile.
    void open() noexcept;
    /// Takes traffic away: Tx moves first, then the gate closes. The caller then waits until it is quiet.
    void shut() noexcept;
    [[nodiscard]] Door &door() noexcept { return door_; }
    [[nodiscard]] SubIndex index() const noexcept { return index_; }

    // ---- link, control side: sub_link.cpp
    /// Asks for its link, as far as that counts, and notes in the selection what is to be made of it. Says when time
    /// alone may change that, or its link has to be looked at again, at the latest.
    Clock::time_point look_at_link(abi::Ethdev &ethdev, Clock::time_point now, std::chrono::milliseconds poll);
    /// The same for one that starts, before its gate opens. `trusted`: without delays.
    void begin_link(abi::Ethdev &ethdev, Clock::time_point now, bool trusted);
    /// Drivers over a netdev without link events tell what the link was once, or nothing of its carrier: the kernel
    /// knows.
    [[nodiscard]] bool kernel_says_down() const noexcept;
    /// Carrier watch: asks the kernel for the carrier of its interface, if nobody else tells of it. False: not so.
    bool watch_carrier() noexcept;
    [[nodiscard]] bool link_counts() const noexcept { return link_rules_.counts; }
    [[nodiscard]] const LinkFilter &link() const noexcept { return link_; }
    /// Is it trusted since the last look and was not before, or the other way round? Asked once.
    [[nodiscard]] bool take_link_change() noexcept { return std::exchange(link_changed_, false); }

    // ---- life
    /// A port that is ours from now on. Reads what it is and has. `used`: see abi::Probed.
    Status adopt(abi::Ethdev &ethdev, PortId port, bool used = false);
    /// Its last counters are added to the port's, and it gets back what it had before it was ours, for whoever has it
    /// next: MAC address, promiscuous and allmulticast mode, MTU, and the interface behind it its flags and MTU.
    void hand_back(abi::Ethdev &ethdev);
    /// It is ours no longer. What remains is to close the port and remove the device, if they still are there.
    void leave(abi::Ethdev &ethdev);
    /// It was reset: what it was told is to be told again.
    void forget(abi::Ethdev &ethdev);
    /// Its port was closed after leave().
    void left() noexcept;
    /// It is as far as the port wants it.
    void joined() noexcept { failures_ = 0; }
    void move_to(State next) noexcept;

    [[nodiscard]] State state() const noexcept { return state_; }
    [[nodiscard]] PortId port() const noexcept { return port_; }
    /// Of the device that it is, or was last; empty if its source has named none yet.
    [[nodiscard]] const std::string &devargs() const noexcept { return devargs_; }
    /// Its source named a device for it. While it is absent.
    void be(std::string devargs);
    /// A vacant place gets its sub-device: always the same device, or what the source names.
    void move_in(std::string devargs, std::unique_ptr<DeviceSource> source);
    /// The sub-device goes for good; its source is to be deleted where no lock is held.
    [[nodiscard]] std::unique_ptr<DeviceSource> move_out();
    /// Is it always the same device, and may this be that one? Any thread; waits for move_in() and move_out() only.
    [[nodiscard]] bool is_always(std::string_view subsystem, std::string_view kernel_name) const;
    /// nullptr if it is always the same device.
    [[nodiscard]] DeviceSource *source() const noexcept { return source_.get(); }
    [[nodiscard]] const char *name() const noexcept { return name_.c_str(); }
    [[nodiscard]] const rte_eth_dev_info &info() const noexcept { return info_; }
    [[nodiscard]] const rte_ether_addr &own_mac() const noexcept { return own_mac_; }
    [[nodiscard]] const Settings &has() const noexcept { return has_; }
    /// It has a port, and nobody said that it is going.
    [[nodiscard]] bool present() const noexcept { return state_ != State::kAbsent && !leaving && !lost(); }
    /// Can control calls be made on it? Not while it is busy with an error of its own.
    [[nodiscard]] bool usable() const noexcept { return present() && !trouble_.any(); }
    /// Is what a call on it answered its own affair and not the caller's?
    [[nodiscard]] bool excused() const noexcept { return lost() || trouble_.any(); }
    /// It has a port, but cannot be told anything now; later it may.
    [[nodiscard]] bool misses_out() const noexcept { return state_ != State::kAbsent && !leaving && !usable(); }
    [[nodiscard]] Trouble &trouble() noexcept { return trouble_; }
    [[nodiscard]] const Trouble &trouble() const noexcept { return trouble_; }

    // ---- calls
    /// Judges what a call on it gave; notices if it has vanished.
    Outcome judge(abi::Ethdev &ethdev, int rc) noexcept;
    /// Carries out one change and notes it.
    Outcome apply(abi::Ethdev &ethdev, const Change &change, int &rc);
    /// Notes what it was given by other means.
    void note(const Change &change) { has_.record(change); }
    /// Its configuration brought RSS of its own.
    void forget_rss() noexcept;
    /// What its driver says; empty if it has no such thing. An error if it is there and refuses to say.
    Status rss_key(abi::Ethdev &ethdev, std::vector<std::uint8_t> &key);
    Status reta(abi::Ethdev &ethdev, std::vector<std::uint16_t> &table);
    /// Notes what a change is about to overwrite and nobody of us has set, so that it can be taken back.
    Status learn(abi::Ethdev &ethdev, const Change &change);
    /// Takes its counters in; keeps the last ones if it does not answer, and says so if it is there and refused.
    Status read_stats(abi::Ethdev &ethdev);
    /// The same for one that is known to be there, whatever is said of it.
    void count(abi::Ethdev &ethdev);
    /// Takes in what it counted, as was read of it for the last time.
    void count_last(const abi::PortStats &last);
    /// It is a PCI device that is gone, and not only asked for: what is read of it is all ones. Asks the system.
    [[nodiscard]] bool reads_as_ones() const noexcept;
    /// Sets the device's own counters to zero, as far as it can; what was counted so far stays.
    Status restart_stats(abi::Ethdev &ethdev);
    /// Counts from zero.
    void clear_stats() noexcept {
        counters_.reset();
        link_.forget_failures();
    }
    [[nodiscard]] const abi::PortStats &counted() const noexcept { return counters_.total(); }

    // ---- for the reconciler
    /// A plug-in failed: says why, and waits longer each time.
    void put_off(const Status &why, Clock::time_point now, std::chrono::milliseconds poll);
    void put_off(std::string why, Clock::time_point now, std::chrono::milliseconds poll);
    /// It was not there: look again after one poll.
    void look_again(Clock::time_point now, std::chrono::milliseconds poll) { next_try = now + poll; }
    void retry_now() noexcept;

    bool vacant = false;          ///< nobody's place
    bool dropped = false;         ///< goes for good: its place will be vacant
    bool removed_by_hand = false; ///< or detached by somebody else: stays absent until it is plugged by hand
    bool leaving = false;         ///< torn down; its port waits to be closed, outside of the mutex
    bool closing = false;         ///< somebody closes that port now, outside of the mutex
    bool halting = false;         ///< the host thread stops it now, outside of the mutex
    bool missed_turn = false;     ///< its last probe found another hot-plug under way
    bool asked = false;           ///< its source looks for a device
    bool named = false;           ///< its source named one that was not looked for yet
    bool probing = false;         ///< a probe is under way, outside of the mutex
    bool announced = false;       ///< that it joined was logged
    bool stale = false;           ///< missed a configuration while it was in trouble, or in other hands
    bool said_trouble = false;    ///< that it is in trouble was logged
    bool said_busy = false;       ///< "an lcore is still inside" was logged for this removal
    Clock::time_point next_try{};
    Clock::time_point leaving_since{};
    Clock::time_point sent_off{};   ///< since when it gets no packets to send, for it is to leave in peace
    Clock::time_point hold_until{}; ///< so long it gets no traffic unless its interface is up
    std::string reason;             ///< why it is not there
    std::shared_ptr<void> lease;    ///< what its source did to the device; undone when the last copy goes
    std::uint64_t lives = 0;        ///< devices that this place ever had; tells one from the next
    std::uint64_t tenant = 0;       ///< tells one sub-device in this place from the next
    std::uint64_t plugins = 0;
    std::uint64_t removals = 0;

  private:
    [[nodiscard]] std::uint8_t flags() const noexcept;
    void inherit(const abi::Ethdev::Leftovers &from);
    /// Is its link up, as far as anybody can tell?
    [[nodiscard]] bool has_link(abi::Ethdev &ethdev);
    void heed(LinkFilter::Verdict verdict) noexcept;
    void weigh_link(abi::Ethdev &ethdev, Clock::time_point now);
    void take_in(const abi::PortStats &now);

    const SubIndex index_;
    std::unique_ptr<DeviceSource> source_;
    std::string devargs_;
    mutable std::mutex place_mutex_; ///< for always_, which the event loop reads
    std::string always_;             ///< the devargs of one that is always the same device
    std::string name_;               ///< of the device, for logs: the devargs up to the first comma
    Selection &selection_;
    Host &host_;
    Keeper *const keeper_; ///< null: nobody makes calls on it
    Door door_;
    std::atomic<std::uint8_t> lost_{0};
    std::atomic<unsigned> netdev_{0};
    std::atomic<std::uint64_t> pci_{0};        ///< pci_number(); 0: no PCI device
    std::atomic<std::uint64_t> pci_folder_{0}; ///< what tells its folder in sysfs from that of the next one there
    std::atomic<bool> news_{false};
    bool seen_up_ = false; ///< link_is_ready()'s
    const LinkRules link_rules_;
    LinkFilter link_;
    bool link_changed_ = false;
    bool link_events_ = false;                       ///< its driver tells of its link
    std::atomic<bool> carrier_{true};                ///< of its interface, when it was last asked for it
    std::atomic<bool> kernel_link_{false};           ///< the kernel's word on its interface is the best there is
    std::atomic<std::uint32_t> link_events_seen_{0}; ///< how often an event told of its link
    std::atomic<std::uint32_t> link_dips_{0};        ///< how often of a link that is down
    std::uint32_t seen_dips_ = 0;
    Trouble trouble_;

    State state_ = State::kAbsent;
    PortId port_;
    rte_eth_dev_info info_{};
    rte_ether_addr own_mac_{};
    Settings has_;
    Settings own_;                      ///< what it had when it became ours, as far as that is given back
    std::optional<unsigned> own_flags_; ///< and the interface behind it
    std::optional<int> own_netdev_mtu_;
    Counters counters_;
    bool counted_last_ = false; ///< there will be no more of them
    bool counted_out_ = false;  ///< counting began anew while it could not be asked: its last counters are of before
    unsigned failures_ = 0;
};

} // namespace holdfast
