// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "abi/bus.h"
#include "abi/ethdev.h"
#include "abi/owner.h"
#include "base/ids.h"
#include "base/mutex.h"
#include "base/result.h"
#include "base/selection.h"
#include "base/state.h"
#include "port/announce.h"
#include "port/bell.h"
#include "port/config.h"
#include "port/device_source.h"
#include "port/host.h"
#include "port/port_info.h"
#include "port/queues.h"
#include "port/settings.h"
#include "port/shared.h"
#include "port/sub_device.h"
#include "port/switch_listeners.h"
#include "port/xstats.h"

#include <rte_ethdev.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

struct rte_eth_dev;
struct rte_vdev_device;

namespace holdfast {

/// A sub-device's port that still has to be closed and its device removed, by whoever gets the next turn to hot-plug.
struct Orphan {
    PortId port{};
    std::shared_ptr<const abi::Owner> owner;
    std::shared_ptr<void> lease; ///< see DeviceSource::prepare()
};

/// The virtual port: what the application configures, over sub-devices that come and go.
///
/// Every public function takes the port's mutex itself (where it needs it), so it may be called from any thread but an
/// lcore inside a burst; the ones named "host" or "event loop" belong to those threads, or to the probing thread before
/// they know the port. No function holds the mutex while it probes or removes a device, or while it calls the
/// application. Lock order: the hot-plug turn (abi::Bus) is never taken with this mutex held.
class VirtualPort final : public Keeper {
  public:
    VirtualPort(rte_eth_dev &dev, Config config, abi::Ethdev &ethdev, abi::Bus &bus, Host &host,
                std::vector<std::unique_ptr<DeviceSource>> sources);
    virtual ~VirtualPort();
    VirtualPort(const VirtualPort &) = delete;
    VirtualPort &operator=(const VirtualPort &) = delete;

    // ---- life
    /// Plugs in what is there and settles the port's MAC. On the probing thread; the port is not known to anybody yet.
    Status begin();
    /// Closes all sub-devices. Of those that could not be taken off the bus now (`wait` is brief and another hot-plug
    /// is under way) the names are given to `orphans`, for the host thread. `keep`: see abi::Bus::remove(). First error
    /// wins; a second call finishes what the first could not.
    Status close(abi::Wait wait, const rte_vdev_device *keep, std::vector<Orphan> &orphans);
    /// After close(): is an lcore still inside a sub-device? Then the port has to stay in memory.
    [[nodiscard]] bool stuck();

    // ---- host
    /// Takes all steps that can be taken now; says when to come again at the latest.
    Clock::time_point reconcile(Clock::time_point now, abi::Wait wait);

    // ---- event loop
    /// Makes the port's link what its active sub-device's is and tells the application of a change; passes by a port
    /// that is busy. Says when to come again at the latest.
    Clock::time_point refresh_link(Clock::time_point now);
    /// A netdev disappeared: loses the sub-device over it, if any. Lock-free.
    void netdev_gone(unsigned index) noexcept;
    /// The carrier of a netdev came or went. Lock-free.
    void carrier(unsigned index, bool up) noexcept;
    /// A PCI device disappeared, or lost its driver: as netdev_gone().
    void pci_gone(std::string_view address) noexcept;
    /// Is this interface, or this PCI device, one of its sub-devices? Lock-free.
    [[nodiscard]] bool uses(unsigned netdev, std::string_view pci) const noexcept;
    /// Looks whether the devices below still exist, for when an event was missed. Lock-free.
    void check_devices() noexcept;
    /// A device came or changed, or any device may have (without a name): sub-devices that are absent, and are always
    /// the same device, are looked for at once if it may be theirs.
    void device_came(std::string_view subsystem, std::string_view kernel_name);

    // ---- carrier watch
    /// Asks the kernel for the carriers that nobody else tells of. May wait for the kernel; takes no lock. Says when to
    /// come again at the latest.
    Clock::time_point watch_carriers() noexcept;

    // ---- a thread that takes a sub-device off its bus behind our back
    bool give_up(SubDevice &sub) noexcept override;

    // ---- operator (telemetry, rte_pmd_holdfast.h): membership.cpp
    /// Makes a sub-device active: with kHeld for as long as it has a link, with kPinned as long as it is there.
    Status make_active(SubIndex sub, Hold hold = Hold::kHeld);
    /// The policies choose again.
    Status release_active();
    /// It leaves in peace, and stays absent until it is plugged by hand; dropped, it leaves for good. `tenant`: see
    /// SubInfo.
    Status remove_by_hand(SubIndex sub);
    Status drop(SubIndex sub, std::uint64_t &tenant);
    Status plug_by_hand(SubIndex sub);
    /// One more sub-device. With `source` it is what that names, else always the device of `devargs`.
    Status add(std::string devargs, std::unique_ptr<DeviceSource> source, SubIndex &out);
    /// Who hears of switches.
    [[nodiscard]] SwitchListeners &listeners() noexcept { return listeners_; }
    using SubInfo = PortInfo::Sub;
    using Info = PortInfo;
    Info describe();

    // ---- ethdev's operations
    Status configure();
    Status start();
    Status stop();
    Status reset();
    Status infos_get(rte_eth_dev_info *info);
    const std::uint32_t *ptypes_get(std::size_t *count);

    Status rx_queue_setup(std::uint16_t queue, std::uint16_t descriptors, unsigned socket, const rte_eth_rxconf *conf,
                          rte_mempool *pool);
    Status tx_queue_setup(std::uint16_t queue, std::uint16_t descriptors, unsigned socket, const rte_eth_txconf *conf);
    void rx_queue_release(std::uint16_t queue);
    void tx_queue_release(std::uint16_t queue);
    Status rx_queue_start(std::uint16_t queue) { return run_queue(true, QueueId{queue}, true); }
    Status rx_queue_stop(std::uint16_t queue) { return run_queue(true, QueueId{queue}, false); }
    Status tx_queue_start(std::uint16_t queue) { return run_queue(false, QueueId{queue}, true); }
    Status tx_queue_stop(std::uint16_t queue) { return run_queue(false, QueueId{queue}, false); }
    void rxq_info_get(std::uint16_t queue, rte_eth_rxq_info *info);
    void txq_info_get(std::uint16_t queue, rte_eth_txq_info *info);

    int link_update(int wait);
    Status set_link_up() { return change(LinkUp{true}); }
    Status set_link_down() { return change(LinkUp{false}); }
    int stats_get(abi::PortStats *stats);
    Status stats_reset();
    int xstats_get(rte_eth_xstat *stats, unsigned n);
    int xstats_get_names(rte_eth_xstat_name *names, unsigned n);
    Status xstats_reset() { return stats_reset(); }

    Status promiscuous_enable() { return change(Promiscuous{true}); }
    Status promiscuous_disable() { return change(Promiscuous{false}); }
    Status allmulticast_enable() { return change(Allmulticast{true}); }
    Status allmulticast_disable() { return change(Allmulticast{false}); }
    Status mtu_set(std::uint16_t mtu) { return change(Mtu{mtu}); }
    Status mac_addr_set(rte_ether_addr *mac) { return change(DefaultMac{*mac}); }
    Status mac_addr_add(rte_ether_addr *mac, std::uint32_t index, std::uint32_t pool);
    void mac_addr_remove(std::uint32_t index);
    Status vlan_filter_set(std::uint16_t vlan, int on) { return change(VlanFilter{vlan, on != 0}); }
    Status vlan_offload_set(int mask);
    Status set_mc_addr_list(rte_ether_addr *list, std::uint32_t count);

    Status rss_hash_update(rte_eth_rss_conf *conf);
    Status rss_hash_conf_get(rte_eth_rss_conf *conf);
    Status reta_update(rte_eth_rss_reta_entry64 *entries, std::uint16_t size);
    Status reta_query(rte_eth_rss_reta_entry64 *entries, std::uint16_t size);

    /// Logs a failure that leaves the driver; what the application asked wrongly only at INFO.
    void report(const Status &status) const;
    [[nodiscard]] std::chrono::milliseconds exec_timeout() const noexcept { return config_.exec_timeout; }
    [[nodiscard]] SubIndex active() const noexcept { return selection_.active(); }
    [[nodiscard]] PortId id() const noexcept { return id_; }
    [[nodiscard]] const char *name() const noexcept { return name_.c_str(); }

  private:
    // ---- reconciling: reconcile.cpp
    void take_down_lost(Clock::time_point now);
    [[nodiscard]] bool has_to_leave(const Locked &, const SubDevice &sub) const
        HOLDFAST_TSA(requires_capability(mutex_));
    /// Stops a lost sub-device's driver, without the mutex. False: an lcore is still inside.
    bool halt(SubDevice &sub);
    void say_stopped(const SubDevice &sub, int rc) const;
    /// Sub-devices that are not to come back give back what their source prepared.
    void end_leases();
    Status close_leaving(abi::Wait wait, const rte_vdev_device *keep, std::vector<Orphan> *orphans);
    void probe_absent(Clock::time_point now, abi::Wait wait);
    void welcome(const Locked &, SubDevice &sub, const abi::Probed &probed, Clock::time_point now)
        HOLDFAST_TSA(requires_capability(mutex_));
    /// Is it known what to probe? If not, its source is asked or has said why.
    bool find_devargs(const Locked &, SubDevice &sub, Clock::time_point now) HOLDFAST_TSA(requires_capability(mutex_));
    void refuse(const Locked &, SubDevice &sub, const Status &why, Clock::time_point now)
        HOLDFAST_TSA(requires_capability(mutex_));
    void refuse(const Locked &, SubDevice &sub, std::string why, Clock::time_point now)
        HOLDFAST_TSA(requires_capability(mutex_));
    void raise(const Locked &, Clock::time_point now) HOLDFAST_TSA(requires_capability(mutex_));
    Clock::time_point next_visit(const Locked &, Clock::time_point now) const HOLDFAST_TSA(requires_capability(mutex_));
    /// Once after each start: does ethdev call our burst functions? Says when to come again.
    Clock::time_point check_fast_path(const Locked &, Clock::time_point now) HOLDFAST_TSA(requires_capability(mutex_));
    [[nodiscard]] State wanted(const SubDevice &sub) const noexcept HOLDFAST_TSA(requires_capability(mutex_));
    /// Shuts a sub-device out of the traffic and waits until nobody is inside, at most for `limit`.
    bool silence(const Locked &, SubDevice &sub, std::chrono::milliseconds limit)
        HOLDFAST_TSA(requires_capability(mutex_));
    /// After its gate was closed or borrowed: does nobody stay inside for longer than `limit`?
    bool is_quiet(const Locked &, SubDevice &sub, std::chrono::milliseconds limit) const
        HOLDFAST_TSA(requires_capability(mutex_));
    /// Brings a sub-device down to a probed port without traffic, with `touch` if calls may be made on it. False: an
    /// lcore is still inside, try again.
    bool bring_down(const Locked &, SubDevice &sub, std::chrono::milliseconds limit, bool touch)
        HOLDFAST_TSA(requires_capability(mutex_));
    /// The same, down to a port that waits to be closed.
    bool tear_down(const Locked &, SubDevice &sub, std::chrono::milliseconds limit)
        HOLDFAST_TSA(requires_capability(mutex_));

    // ---- errors of sub-devices that are still there: revive.cpp
    void revive(const Locked &, Clock::time_point now) HOLDFAST_TSA(requires_capability(mutex_));
    Status reset_sub(const Locked &, SubDevice &sub) HOLDFAST_TSA(requires_capability(mutex_));
    Status lower_sub(const Locked &, SubDevice &sub) HOLDFAST_TSA(requires_capability(mutex_));
    /// Is a sub-device that runs not what the application wants by now, so that it has to stop first?
    [[nodiscard]] bool fits_no_more(const Locked &, const SubDevice &sub) const
        HOLDFAST_TSA(requires_capability(mutex_));

    // ---- RSS: rss_ops.cpp
    /// What the port promises now.
    [[nodiscard]] rte_eth_dev_info promised(const Locked &) const HOLDFAST_TSA(requires_capability(mutex_));
    [[nodiscard]] bool is_reta_size(const Locked &, std::uint16_t size) const HOLDFAST_TSA(requires_capability(mutex_));
    Status reta_now(const Locked &, std::uint16_t size, std::vector<std::uint16_t> &table)
        HOLDFAST_TSA(requires_capability(mutex_));

    // ---- steps: steps.cpp
    Status configure_sub(const Locked &, SubDevice &sub) HOLDFAST_TSA(requires_capability(mutex_));
    /// `trusted`: see SubDevice::begin_link().
    Status start_sub(const Locked &, SubDevice &sub, bool trusted = false) HOLDFAST_TSA(requires_capability(mutex_));
    Status stop_sub(const Locked &, SubDevice &sub, std::chrono::milliseconds limit)
        HOLDFAST_TSA(requires_capability(mutex_));
    /// Does a Tx queue of sub-devices send mbufs of ours beside the application's?
    [[nodiscard]] bool mixes_pools(const Locked &, QueueId queue) const HOLDFAST_TSA(requires_capability(mutex_));
    Status set_up_rx(const Locked &, SubDevice &sub, QueueId queue) HOLDFAST_TSA(requires_capability(mutex_));
    Status set_up_tx(const Locked &, SubDevice &sub, QueueId queue) HOLDFAST_TSA(requires_capability(mutex_));
    enum class Phase : std::uint8_t { kBeforeStart, kAfterStart };
    Status replay(const Locked &, SubDevice &sub, Phase phase) HOLDFAST_TSA(requires_capability(mutex_));
    Status run_queues(const Locked &, SubDevice &sub) HOLDFAST_TSA(requires_capability(mutex_));
    /// A sub-device and what it had before something was tried.
    struct Before {
        SubDevice *sub;
        Settings had;
    };
    /// Gives sub-devices the port's configuration again, if it has one, and what they had beside it.
    void take_back(const Locked &, const std::vector<Before> &subs) HOLDFAST_TSA(requires_capability(mutex_));
    Status answer(SubDevice &sub, int rc, const char *what) const;

    // ---- what the application sets: settings_ops.cpp
    enum class Refusal : std::uint8_t { kRollsBack, kIsIgnored };
    Status change(const Change &change, Refusal refusal = Refusal::kRollsBack);
    void roll_back(const Locked &, SubDevice &sub, const std::vector<Change> &undo)
        HOLDFAST_TSA(requires_capability(mutex_));
    /// Gives a sub-device on which filtering was just turned on the VLANs that it could not be told before.
    Status complete_vlans(const Locked &, SubDevice &sub, const VlanOffload &offload)
        HOLDFAST_TSA(requires_capability(mutex_));
    Status run_queue(bool rx, QueueId queue, bool run);

    // ---- link: link.cpp
    void note_switch(const Locked &) HOLDFAST_TSA(requires_capability(mutex_));
    /// Those who listen are told that this one is active now, when the event loop comes round.
    void tell_later(const Locked &, SubIndex active) HOLDFAST_TSA(requires_capability(mutex_));
    /// For a switch that is the application's own doing, a start or a stop: nobody is told.
    void note_own_switch(const Locked &) HOLDFAST_TSA(requires_capability(mutex_));
    void say_link(const Locked &, SubDevice &sub) const HOLDFAST_TSA(requires_capability(mutex_));
    Clock::time_point look_at_links(const Locked &, Clock::time_point now) HOLDFAST_TSA(requires_capability(mutex_));
    [[nodiscard]] bool is_faster(const Locked &, SubDevice &one, SubDevice &other)
        HOLDFAST_TSA(requires_capability(mutex_));
    /// Which one is to be active, by the policies.
    [[nodiscard]] SubIndex best(const Locked &, const Selection::View &view) HOLDFAST_TSA(requires_capability(mutex_));
    /// Announces one that is to be active, and makes it active. False: an event was faster, and nothing was chosen.
    bool switch_over(const Locked &, SubIndex to, SubIndex from, Hold hold, SwitchWhy why)
        HOLDFAST_TSA(requires_capability(mutex_));
    /// Makes it so. What is lost has been dealt with already, by the event that told.
    void choose(const Locked &) HOLDFAST_TSA(requires_capability(mutex_));
    /// Looks at all links, chooses, and makes the port's link what it is. Says when to come again at the latest.
    Clock::time_point settle(const Locked &, Clock::time_point now) HOLDFAST_TSA(requires_capability(mutex_));
    /// Makes the port's link what the active sub-device's is.
    void settle_link(const Locked &) HOLDFAST_TSA(requires_capability(mutex_));
    /// Is the link another one than the application was last told of? It is told now.
    bool link_is_news(const Locked &) HOLDFAST_TSA(requires_capability(mutex_));

    // ---- who belongs to the port: membership.cpp
    /// The sub-device in that place, if there is one.
    Status find(const Locked &, SubIndex index, SubDevice *&out) HOLDFAST_TSA(requires_capability(mutex_));
    /// It is to be absent until it is plugged by hand.
    void take_off(const Locked &, SubDevice &sub) HOLDFAST_TSA(requires_capability(mutex_));
    /// From now on it gets nothing more to send, for it is to leave.
    void send_off(const Locked &, SubDevice &sub) HOLDFAST_TSA(requires_capability(mutex_));
    /// Does it still send what it was given before?
    [[nodiscard]] bool is_sending(const Locked &, SubDevice &sub, Clock::time_point now)
        HOLDFAST_TSA(requires_capability(mutex_));
    /// Places of those that have left for good become vacant.
    void vacate();
    /// What a place counted stays the port's when somebody else moves in.
    void add_to_gone(const Locked &, const SubDevice &place) HOLDFAST_TSA(requires_capability(mutex_));

    // ---- announcements: announcing.cpp
    [[nodiscard]] bool announces(const Locked &) const HOLDFAST_TSA(requires_capability(mutex_));
    [[nodiscard]] Announcement what_to_announce(const Locked &) const HOLDFAST_TSA(requires_capability(mutex_));
    /// One burst of frames on a sub-device's queue 0, for which its gate is borrowed. Says how many were sent.
    std::size_t send_frames(const Locked &, SubDevice &sub, const Announcement &what, std::size_t from)
        HOLDFAST_TSA(requires_capability(mutex_));
    /// The port's addresses are to be announced on a sub-device; none: no more announcements.
    void plan_announcement(const Locked &, SubIndex on) HOLDFAST_TSA(requires_capability(mutex_));
    /// The same, and the first announcement goes out: before the sub-device becomes active.
    void announce_first(const Locked &, SubIndex on) HOLDFAST_TSA(requires_capability(mutex_));
    /// Sends what is due. Says when to come again at the latest.
    Clock::time_point announce(const Locked &, Clock::time_point now) HOLDFAST_TSA(requires_capability(mutex_));

    // ---- what others see: info.cpp
    void promise(const Locked &, rte_eth_dev_info &info) const HOLDFAST_TSA(requires_capability(mutex_));
    std::vector<std::uint32_t> common_ptypes(const Locked &) const HOLDFAST_TSA(requires_capability(mutex_));
    int read_stats(const Locked &) HOLDFAST_TSA(requires_capability(mutex_));
    abi::PortStats summed(const Locked &) const HOLDFAST_TSA(requires_capability(mutex_));
    PortCounts count_port(const Locked &) const HOLDFAST_TSA(requires_capability(mutex_));
    std::span<const SubCounts> count_subs(const Locked &, std::array<SubCounts, kMaxSubDevices> &out) const
        HOLDFAST_TSA(requires_capability(mutex_));

    // ---- secondary processes: publish.cpp
    /// Shows them what is; sub-devices are not asked for anything.
    void publish(const Locked &) HOLDFAST_TSA(requires_capability(mutex_));
    /// The same, if sub-devices came or left since: then all of them are woken to take note.
    void tell_secondaries(const Locked &) HOLDFAST_TSA(requires_capability(mutex_));
    /// Have all that listen let go of what left? Also true when one takes too long.
    [[nodiscard]] bool secondaries_know();
    /// If one of them asked: reads the counters, and shows it all.
    void answer_secondaries(const Locked &) HOLDFAST_TSA(requires_capability(mutex_));

    /// How long one visit of the host waits for lcores to leave a sub-device. They stay for one burst; longer only if
    /// they lost their CPU.
    static constexpr std::chrono::milliseconds kPatience{200};

    template <class F> void each_present(F f) const {
        for (const std::unique_ptr<SubDevice> &sub : subs_)
            if (sub->present())
                f(*sub);
    }
    template <class F> void each_usable(F f) const {
        for (const std::unique_ptr<SubDevice> &sub : subs_)
            if (sub->usable())
                f(*sub);
    }

    rte_eth_dev &dev_; ///< ours until it is released; not touched any more once closing_
    const std::string name_;
    const PortId id_;
    const Config config_;
    abi::Ethdev &ethdev_;
    abi::Bus &bus_;
    Host &host_;
    std::shared_ptr<const abi::Owner> owner_; ///< also of those of its sub-devices that are orphans

    alignas(kCacheLine) Selection selection_; ///< read by lcores at every Tx burst, so alone on its line
    alignas(kCacheLine) mutable Mutex mutex_;
    std::vector<std::unique_ptr<SubDevice>> subs_;           ///< all places; fixed once the port exists
    std::size_t used_ HOLDFAST_TSA(guarded_by(mutex_)) = 0;  ///< places from here on were never used
    abi::PortStats gone_ HOLDFAST_TSA(guarded_by(mutex_)){}; ///< counted by those that left for good
    SwitchListeners listeners_;
    std::unique_ptr<Queues> queues_ HOLDFAST_TSA(pt_guarded_by(mutex_));
    Settings settings_ HOLDFAST_TSA(guarded_by(mutex_));
    State wanted_ HOLDFAST_TSA(guarded_by(mutex_)) = State::kProbed;
    bool closing_ HOLDFAST_TSA(guarded_by(mutex_)) = false;

    /// The configuration that sub-devices get: a copy, for ethdev's own is half changed while it calls us.
    struct Configuration {
        rte_eth_conf conf{};
        std::array<std::uint8_t, 256> rss_key{};
        std::uint16_t rx_queues = 0;
        std::uint16_t tx_queues = 0;

        /// conf, with its pointers into this object.
        [[nodiscard]] rte_eth_conf get() const noexcept;
    };
    static Configuration copy_of(const rte_eth_dev &dev) noexcept;
    Configuration configuration_ HOLDFAST_TSA(guarded_by(mutex_));

    std::uint64_t starts_ HOLDFAST_TSA(guarded_by(mutex_)) = 0;
    std::uint64_t checked_start_ HOLDFAST_TSA(guarded_by(mutex_)) = 0; ///< the start that check_fast_path() saw
    Clock::time_point fast_path_due_ HOLDFAST_TSA(guarded_by(mutex_));
    unsigned fast_path_doubts_ HOLDFAST_TSA(guarded_by(mutex_)) = 0;

    struct Announcing {
        SubIndex on{};
        std::uint32_t left = 0; ///< announcements
        Announcement what{};
        std::size_t at = 0; ///< frames of this one that are sent
        Clock::time_point due{};
        unsigned tries = 0;
        bool before_active = false; ///< it is not active yet
    };
    Announcing announcing_ HOLDFAST_TSA(guarded_by(mutex_));
    std::uint64_t frames_announced_ HOLDFAST_TSA(guarded_by(mutex_)) = 0;
    rte_eth_link announced_ HOLDFAST_TSA(guarded_by(mutex_)){}; ///< what the application knows of the link
    struct ByHand {
        SubIndex sub{};
        Hold hold = Hold::kFree;
        std::uint64_t failures = 0; ///< of its link, when it was chosen
    };
    ByHand by_hand_ HOLDFAST_TSA(guarded_by(mutex_));       ///< kept over stops, and errors that it recovers from
    SubIndex told_active_ HOLDFAST_TSA(guarded_by(mutex_)); ///< what listeners know, or will
    SubIndex last_active_ HOLDFAST_TSA(guarded_by(mutex_));
    bool had_active_ HOLDFAST_TSA(guarded_by(mutex_)) = false;
    std::optional<SwitchWhy> why_ HOLDFAST_TSA(guarded_by(mutex_)); ///< of the next switch, if it was a choice
    std::vector<SwitchEvent> untold_ HOLDFAST_TSA(guarded_by(mutex_));
    std::uint64_t switches_ HOLDFAST_TSA(guarded_by(mutex_)) = 0;
    SharedPort *const shared_; ///< in the ethdev's dev_private, which goes with the ethdev; null in unit tests
    std::unique_ptr<Snapshot> snapshot_;                              ///< being put together; published as a whole
    std::optional<Bell::Turn> told_ HOLDFAST_TSA(guarded_by(mutex_)); ///< the ring that not all have heard yet
    Clock::time_point told_until_ HOLDFAST_TSA(guarded_by(mutex_));
    std::vector<std::uint32_t> ptypes_ HOLDFAST_TSA(guarded_by(mutex_));
};

} // namespace holdfast
