/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Control of net_mayfly, the simulated NIC that fails on command.
 *
 * Devices are addressed by name ("net_mayfly0"), because an unplugged device has no port. What a name remembers (is it
 * plugged, calls per operation, armed failures, its script) lives as long as the process: it survives close and
 * re-probe, and may be set before the first probe. A *life* is the time from one probe of a name to the close of that
 * port.
 *
 * Unless a function says otherwise: any thread may call it, but not from inside a burst; it waits for short locks only,
 * and it gives 0, or a negative errno: -EINVAL for a name that does not begin with "net_mayfly", for an unknown
 * operation, event or value; -ENODEV where the device has to have a port and has none.
 *
 * Operations are named as the slots of DPDK's eth_dev_ops ("mtu_set", "dev_start"), and beside them: "probe", "remove",
 * "rx_burst", "tx_burst", "tx_prepare", "rx_queue_count", "tx_queue_count", "rx_descriptor_status",
 * "tx_descriptor_status". rte_pmd_mayfly_op_name() lists them.
 *
 * A device made with ports=N has N ports, named as the device, then with "_1", "_2" ... behind it. Each is addressed by
 * its own name; unplug, planned unplug and plug of one are those of all, for they share the hardware.
 *
 * A dead device (unplugged under its port): Rx gives nothing; Tx accepts, drops and counts (or, with dead_tx=refuse,
 * accepts nothing); operations answer -EIO, but for those that a driver serves without its hardware or that take the
 * port down: dev_infos_get, rxq_info_get, txq_info_get, burst modes, supported ptypes, queue release, queue stop,
 * dev_stop, dev_close. is_removed says 1.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Ethernet type of generated packets (IEEE local experimental 1), and where their stamp begins. */
#define RTE_PMD_MAYFLY_ETHER_TYPE 0x88b5u
#define RTE_PMD_MAYFLY_STAMP_OFFSET 14u
#define RTE_PMD_MAYFLY_STAMP_MAGIC 0x4d617946u

/** Where it begins in a packet of a flow (flows=), behind IPv4 and UDP; and the UDP source port of flow 0. */
#define RTE_PMD_MAYFLY_FLOW_STAMP_OFFSET 42u
#define RTE_PMD_MAYFLY_FIRST_FLOW_PORT 1024u

/**
 * What follows the Ethernet header of a generated packet, in the byte order of the machine. The rest of the packet is
 * zero.
 *
 * With flows=N it is behind the IPv4 and UDP headers of one of N flows (rte_pmd_mayfly_read_flow()), and comes in on
 * the queue to which RSS sends that flow: by the hash functions for IPv4 or UDP over IPv4, the key and the redirection
 * table, as they are set at that moment; without RSS on queue 0.
 *
 * Sequence numbers count up from 0 by 1 per (device, queue) and go on over stop, close and re-probe, so a receiver that
 * has every packet of one queue sees no gap, no number twice, and order. A number is used up when the packet is handed
 * to the caller of the burst.
 */
struct rte_pmd_mayfly_stamp {
    uint32_t magic;    /**< RTE_PMD_MAYFLY_STAMP_MAGIC */
    uint32_t device;   /**< rte_pmd_mayfly_id() of the device that made it */
    uint32_t life;     /**< which life of that device, from 1 */
    uint16_t queue;    /**< the Rx queue that gave it */
    uint16_t zero;     /**< 0 */
    uint64_t sequence; /**< see above */
    uint64_t cycles;   /**< time stamp counter when it was made */
};

/**
 * Reads the stamp of a packet. Holds no state; may be called from a burst.
 *
 * @param packet  its first byte (the Ethernet header)
 * @param length  bytes that are readable there
 * @return 1 and the stamp, or 0: not a packet of a mayfly
 */
static inline int rte_pmd_mayfly_read_stamp(const unsigned char *packet, size_t length,
                                            struct rte_pmd_mayfly_stamp *stamp) {
    size_t at = RTE_PMD_MAYFLY_STAMP_OFFSET;

    if (length < at + sizeof(*stamp))
        return 0;
    if (packet[12] == 0x08 && packet[13] == 0x00 && packet[14] == 0x45 && packet[23] == 17)
        at = RTE_PMD_MAYFLY_FLOW_STAMP_OFFSET;
    else if (packet[12] != (RTE_PMD_MAYFLY_ETHER_TYPE >> 8) || packet[13] != (RTE_PMD_MAYFLY_ETHER_TYPE & 0xffu))
        return 0;
    if (length < at + sizeof(*stamp))
        return 0;
    memcpy(stamp, packet + at, sizeof(*stamp));
    return stamp->magic == RTE_PMD_MAYFLY_STAMP_MAGIC;
}

/** Reads the number of the flow that a packet belongs to, from 0; -1: it is not one of a mayfly's flows. As above. */
static inline int rte_pmd_mayfly_read_flow(const unsigned char *packet, size_t length) {
    const int first = RTE_PMD_MAYFLY_FIRST_FLOW_PORT;
    struct rte_pmd_mayfly_stamp stamp;

    if (!rte_pmd_mayfly_read_stamp(packet, length, &stamp) || packet[12] != 0x08)
        return -1;
    return packet[34] * 256 + packet[35] - first;
}

/**
 * Flag: raise events from the calling thread, before the function returns. Without it mayfly's own control thread (not
 * an lcore) does the whole command, soon after; rte_pmd_mayfly_wait() waits for that. Not before rte_eal_init(), where
 * only SYNC works.
 */
#define RTE_PMD_MAYFLY_SYNC 1u

/** Is there hardware behind a name? */
enum rte_pmd_mayfly_state {
    RTE_PMD_MAYFLY_PLUGGED = 0,   /**< can be probed, or works under its port; so are names never heard of */
    RTE_PMD_MAYFLY_LEAVING = 1,   /**< planned unplug asked for: works until its port is closed */
    RTE_PMD_MAYFLY_UNPLUGGED = 2, /**< a probe answers -ENODEV; a port that is still open is dead */
};

/**
 * Pulls the device (surprise): its port is dead from now on, and RTE_ETH_EVENT_INTR_RMV is raised once.
 *
 * The event comes at most once per life, and as with real NICs only when the device has rmv=1 and the port, if it was
 * configured, has intr_conf.rmv set. Packets that wait in a pair's or loop's ring are freed when the port stops or
 * closes.
 *
 * @return 0; -EALREADY: it is unplugged (with SYNC; without it the command is accepted and does nothing)
 */
int rte_pmd_mayfly_unplug(const char *name, unsigned int flags);

/**
 * Asks for the device (planned unplug): raises RTE_ETH_EVENT_INTR_RMV as above, but the device works on until its port
 * is closed; without a port it is unplugged at once. plug takes the request back.
 *
 * @return 0; -EALREADY: it is leaving or unplugged (with SYNC)
 */
int rte_pmd_mayfly_unplug_planned(const char *name, unsigned int flags);

/**
 * Puts the device back: its name can be probed again. A dead port that is still open stays dead and has to be closed
 * first.
 *
 * @return 0; -EALREADY: it is plugged
 */
int rte_pmd_mayfly_plug(const char *name);

/**
 * Connects (up = 1) or cuts (up = 0) the cable. Raises RTE_ETH_EVENT_INTR_LSC when that is a change, the device has
 * lsc=1 and the port intr_conf.lsc. Lasts over re-probe. Without link Rx gives nothing, and Tx accepts, drops and
 * counts.
 */
int rte_pmd_mayfly_link(const char *name, int up, unsigned int flags);

/**
 * Lets the next `calls` calls of an operation fail with `error` (EIO or -EIO); -1: until cleared; 0: clears.
 *
 * Operations without a result are not carried out instead (but for queue releases, which cannot fail: -EINVAL). A
 * failing dev_close reports its error and closes all the same, because ethdev releases the port whatever it says.
 * is_removed answers 0; supported ptypes answers none; bursts and prepare move no packet; prepare sets rte_errno.
 */
int rte_pmd_mayfly_fail(const char *name, const char *op, int32_t calls, int error);

/**
 * Lets every call of an operation take `microseconds` longer; 0 clears. Control operations sleep, at most 60 s;
 * fast-path operations wait *inside* the burst, at most 1 s, sleeping when it is 100 us or more.
 */
int rte_pmd_mayfly_delay(const char *name, const char *op, uint32_t microseconds);

/**
 * Raises an ethdev event for the device's port.
 *
 * @param event  an enum rte_eth_event_type
 */
int rte_pmd_mayfly_raise(const char *name, int event, unsigned int flags);

/** What becomes of a device that found an error in itself. */
enum rte_pmd_mayfly_recovery {
    RTE_PMD_MAYFLY_RECOVERING = 0, /**< begins to recover: RTE_ETH_EVENT_ERR_RECOVERING. May come again meanwhile */
    RTE_PMD_MAYFLY_RECOVERED = 1,  /**< ends well: RTE_ETH_EVENT_RECOVERY_SUCCESS */
    RTE_PMD_MAYFLY_RECOVERY_FAILED = 2, /**< ends badly: RTE_ETH_EVENT_RECOVERY_FAILED */
};

/**
 * Lets the device recover from an error, as drivers with proactive error handling do: the state changes, then the
 * event comes (which rte_pmd_mayfly_raise() gives without the state).
 *
 * While it recovers, bursts move no packet, and operations answer -EBUSY, but for those that a dead device serves; what
 * was set is kept. After a failure bursts move nothing either, operations answer -EIO, and the port has to be closed;
 * the next probe finds a healthy device. In neither state is it removed (is_removed says 0).
 *
 * @param step  an enum rte_pmd_mayfly_recovery
 * @return 0; with SYNC: -ENODEV without a port, or unplugged; -EALREADY: it is not in the state in which this can come
 */
int rte_pmd_mayfly_recover(const char *name, int step, unsigned int flags);

/**
 * Lets the device hang until it is reset, and raises RTE_ETH_EVENT_INTR_RESET, as a VF does whose PF was reset: bursts
 * move no packet, operations answer -EIO, but for dev_reset, after which it has forgotten all that it was told.
 *
 * @return 0; with SYNC: -ENODEV, -EALREADY as above
 */
int rte_pmd_mayfly_reset(const char *name, unsigned int flags);

/** Raises an ethdev event from inside the next call of an operation, in the thread that calls it, before it does its
 * work. */
int rte_pmd_mayfly_raise_in(const char *name, const char *op, int event);

/** Pulls the device (surprise) from inside the next call of an operation, which then answers as a dead device does. */
int rte_pmd_mayfly_unplug_in(const char *name, const char *op);

/** Takes back every armed failure, delay, in-operation event and in-operation unplug of the device. */
int rte_pmd_mayfly_clear(const char *name);

/**
 * Starts a script ("unplug@2s;plug@4s", see the devargs) in place of what is left of the current one.
 *
 * @param error  where a sentence goes that names the bad part and its position; may be NULL
 * @return 0; -EINVAL: cannot be parsed
 */
int rte_pmd_mayfly_script(const char *name, const char *script, char *error, size_t error_size);

/**
 * Waits until everything asked of the control thread so far for this device is done, timed script steps excepted.
 * Not from an event callback.
 *
 * @return 0; -ETIMEDOUT
 */
int rte_pmd_mayfly_wait(const char *name, uint32_t milliseconds);

/** How often an operation was called, over all lives, also when it failed. Bursts count from any lcore. */
int64_t rte_pmd_mayfly_calls(const char *name, const char *op);

/** Name of the operation with this number, from 0; NULL past the last one. */
const char *rte_pmd_mayfly_op_name(unsigned int number);

/** What rte_pmd_mayfly_count() knows of a device, over all its lives. */
enum rte_pmd_mayfly_counter {
    RTE_PMD_MAYFLY_LIVES,      /**< successful probes */
    RTE_PMD_MAYFLY_CLOSES,     /**< ports closed */
    RTE_PMD_MAYFLY_UNPLUGS,    /**< unplugs, planned and surprise */
    RTE_PMD_MAYFLY_RMV_EVENTS, /**< INTR_RMV raised */
    RTE_PMD_MAYFLY_LSC_EVENTS, /**< INTR_LSC raised */
    RTE_PMD_MAYFLY_TRESPASSES, /**< queues found with somebody inside at their stop, release or close; a test asserts 0
                                */
    RTE_PMD_MAYFLY_LATE_CALLS, /**< fast-path calls for a queue whose port was stopped; a test asserts 0 */
    RTE_PMD_MAYFLY_RX_PACKETS, /**< handed to the application */
    RTE_PMD_MAYFLY_TX_PACKETS, /**< accepted and sent */
    RTE_PMD_MAYFLY_TX_NO_PEER, /**< accepted and dropped: nobody at the other end */
    RTE_PMD_MAYFLY_TX_DEAD,    /**< accepted and dropped: the device was dead */
    RTE_PMD_MAYFLY_TX_NO_LINK, /**< accepted and dropped: no link */
    RTE_PMD_MAYFLY_RX_NO_MBUF, /**< not made: the mempool was empty */
    RTE_PMD_MAYFLY_DRAINED,    /**< waited in a ring when its reader stopped, and were freed */
    RTE_PMD_MAYFLY_RX_INTERRUPTS, /**< Rx interrupts raised, or timed to be */
};

/** One of the counters above. */
int64_t rte_pmd_mayfly_count(const char *name, enum rte_pmd_mayfly_counter what);

/**
 * Accesses to closed queues since rte_pmd_mayfly_catch_late(1). Each queue lives on pages of its own, which are made
 * inaccessible when it is released and not used again before about four million queues were made: an access after
 * that is a SIGSEGV.
 */
int64_t rte_pmd_mayfly_late_accesses(void);

/**
 * 1: such accesses are counted, and the accessor meets an empty page on which bursts do nothing, so that a test can
 * report them. 0, the default: they kill the process. Installs a SIGSEGV handler that passes other faults on.
 * Process-wide; not while others install handlers.
 */
int rte_pmd_mayfly_catch_late(int on);

/** An enum rte_pmd_mayfly_state. */
int rte_pmd_mayfly_presence(const char *name);

/** The port id of the device. */
int rte_pmd_mayfly_port(const char *name);

/** The number that the device's packets carry, from 1. */
int rte_pmd_mayfly_id(const char *name);

/** What the port was told, as the device sees it. A new life begins with the defaults. */
struct rte_pmd_mayfly_settings {
    uint8_t configured, started, promiscuous, allmulticast;
    uint8_t link_wanted; /**< 0 after set_link_down */
    uint8_t mac[6];      /**< default address */
    uint16_t mtu;
    uint16_t rx_queues, tx_queues;
    uint16_t macs;    /**< further addresses */
    uint16_t vlans;   /**< VLANs let through */
    uint16_t mc_macs; /**< multicast list */
    uint16_t pvid;    /**< 0: none */
    uint16_t tpid_outer, tpid_inner;
    uint64_t rx_offloads, tx_offloads; /**< of the port; VLAN offloads are Rx offloads */
    uint64_t strip_queues;             /**< bit n: VLAN stripping was switched on for Rx queue n */
    uint64_t rss_hf;
    uint32_t rss_algorithm;
    uint32_t fc_mode, fc_high_water, fc_low_water; /**< flow control */
    uint16_t fc_pause_time;
    uint16_t reta_size;
    uint32_t ptype_mask;
};

/** Copies what the device was told. */
int rte_pmd_mayfly_get_settings(const char *name, struct rte_pmd_mayfly_settings *settings);

/**
 * Copies the further unicast addresses, the multicast list, the VLAN ids let through (each in ascending order of slot
 * or number), the RSS key, or the redirection table.
 *
 * @param count  how many fit into the array
 * @return how many there are, also when they did not fit
 */
int rte_pmd_mayfly_macs(const char *name, uint8_t (*macs)[6], unsigned int count);
int rte_pmd_mayfly_mc_macs(const char *name, uint8_t (*macs)[6], unsigned int count);
int rte_pmd_mayfly_vlans(const char *name, uint16_t *vlans, unsigned int count);
int rte_pmd_mayfly_rss_key(const char *name, uint8_t *key, unsigned int count);
int rte_pmd_mayfly_reta(const char *name, uint16_t *queues, unsigned int count);

#ifdef __cplusplus
}
#endif
