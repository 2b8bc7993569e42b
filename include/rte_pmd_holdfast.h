/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Control of net_holdfast, the port that never goes away: which of its sub-devices is active, and which belong to it.
 * What these functions do, telemetry does too (/holdfast/...).
 *
 * A Holdfast port is addressed by its ethdev port id, a sub-device by its *place*: its position in the devargs, from 0.
 * The one in place 0 is the preferred one. A sub-device that is added at run time takes the first free place, and keeps
 * it while its device comes and goes.
 *
 * Any thread of the primary process may call these functions, but not from inside a burst, and not from a callback of
 * DPDK or of this header unless it is said. They wait for other control calls on the same port. Each gives 0 (or what
 * it says), or a negative errno, and then nothing is changed: -ENODEV if no Holdfast port has that id; -EINVAL if no
 * port has that place, or a pointer is NULL; -ENOENT if nobody is in that place; -ENOMEM.
 */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Places of a port. */
#define RTE_PMD_HOLDFAST_MAX_SUBS 16

/** How far a sub-device has come. */
enum rte_pmd_holdfast_state {
    RTE_PMD_HOLDFAST_VACANT = 0,     /**< nobody is in this place */
    RTE_PMD_HOLDFAST_ABSENT = 1,     /**< not there: `reason` says why */
    RTE_PMD_HOLDFAST_PROBED = 2,     /**< there; the port is not configured yet */
    RTE_PMD_HOLDFAST_CONFIGURED = 3, /**< there; the port is not started yet */
    RTE_PMD_HOLDFAST_STARTED = 4,    /**< runs */
};

/** What is made of its link. */
enum rte_pmd_holdfast_link {
    RTE_PMD_HOLDFAST_LINK_UNKNOWN = 0, /**< it does not run, or links do not count (switch_on=removal) */
    RTE_PMD_HOLDFAST_LINK_DOWN = 1,
    RTE_PMD_HOLDFAST_LINK_SHAKY =
        2, /**< up, but not for long enough (up_delay, or it failed often): better than none */
    RTE_PMD_HOLDFAST_LINK_UP = 3,
};

/** One sub-device, as it is at one moment. Texts are cut to their room. */
struct rte_pmd_holdfast_sub {
    char devargs[256];      /**< of the device that it is, or was last */
    char source[128];       /**< what names its device, "exec(/opt/find-vf)"; empty: it is always the same one */
    char reason[256];       /**< why it is not there */
    uint64_t plugins;       /**< how often it came */
    uint64_t removals;      /**< how often it left */
    uint64_t link_failures; /**< how often its link went down while it was trusted */
    int32_t state;          /**< an enum rte_pmd_holdfast_state */
    int32_t link;           /**< an enum rte_pmd_holdfast_link */
    int32_t port_id;        /**< its own ethdev port, -1 if it has none */
    int32_t active;         /**< 1: it is the active one */
    int32_t wanted;         /**< 0: it was removed by hand */
    int32_t reserved;       /**< 0 */
};

/**
 * Is this a Holdfast port?
 * @return 1, or 0
 */
int rte_pmd_holdfast_is_port(uint16_t port_id);

/**
 * How many places of a port were used so far: from 1 to RTE_PMD_HOLDFAST_MAX_SUBS. It never gets less.
 */
int rte_pmd_holdfast_places(uint16_t port_id);

/**
 * Which sub-device is active.
 * @return its place; -ENOLINK if nobody can carry traffic
 */
int rte_pmd_holdfast_active(uint16_t port_id);

/**
 * Tells about one place.
 * @param sub  filled; for a place that nobody ever had with RTE_PMD_HOLDFAST_VACANT
 */
int rte_pmd_holdfast_get(uint16_t port_id, uint8_t place, struct rte_pmd_holdfast_sub *sub);

/**
 * Makes a sub-device active. It stays so until its link is lost or it leaves, also over a stop and a start of the port;
 * a preferred one that comes back does not take over meanwhile. No packet is lost: what the one before accepted it
 * sends.
 * @return -EAGAIN: it does not run, or has no link
 */
int rte_pmd_holdfast_switch(uint16_t port_id, uint8_t place);

/**
 * The same, and it stays so without a link as well, until it leaves or rte_pmd_holdfast_unpin().
 * @return -EAGAIN: it does not run
 */
int rte_pmd_holdfast_pin(uint16_t port_id, uint8_t place);

/** Ends what rte_pmd_holdfast_pin() or rte_pmd_holdfast_switch() ordered: the policies of the devargs choose again. */
int rte_pmd_holdfast_unpin(uint16_t port_id);

/**
 * Removes a sub-device in peace: it gets nothing more to send, sends what it was given (for 200 ms at most), and is
 * then stopped, closed and taken off its bus. It stays absent until rte_pmd_holdfast_plug().
 *
 * Returns when it is absent, but after 2 s at the latest.
 * @return -EINPROGRESS: it is not yet; it goes on
 */
int rte_pmd_holdfast_remove(uint16_t port_id, uint8_t place);

/**
 * Lets a sub-device back in that was removed, or detached by somebody else. Returns when it joined, but after 2 s at
 * the latest.
 * @return -EINPROGRESS: it has not yet, rte_pmd_holdfast_get() says why; it is tried on and on. -EBUSY: it is being
 *         dropped
 */
int rte_pmd_holdfast_plug(uint16_t port_id, uint8_t place);

/**
 * Adds a sub-device.
 *
 * @param devargs  one item as in the devargs of the port: "dev(0000:01:00.0)", "udev(...)", "exec(...)" or "fd(...)"
 * @param fault    if not NULL, a text of `room` bytes that says what is wrong with `devargs`; empty if nothing is
 * @return its place; its device is looked for from now on. -EINVAL: `devargs` cannot be read; -EEXIST: this device is a
 *         sub-device already; -ENOSPC: no place is free
 */
int rte_pmd_holdfast_add(uint16_t port_id, const char *devargs, char *fault, uint32_t room);

/**
 * Removes a sub-device as rte_pmd_holdfast_remove() does, and for good: its place is free then. What it counted stays
 * in the port's statistics.
 * @return -EINPROGRESS: it is not gone yet; it goes on
 */
int rte_pmd_holdfast_drop(uint16_t port_id, uint8_t place);

/** Why the active sub-device became another one. */
enum rte_pmd_holdfast_why {
    RTE_PMD_HOLDFAST_REMOVAL = 0, /**< the one before left, or had an error in itself */
    RTE_PMD_HOLDFAST_LINK = 1,    /**< the one before lost its link */
    RTE_PMD_HOLDFAST_BETTER = 2,  /**< the policies prefer the new one */
    RTE_PMD_HOLDFAST_BY_HAND = 3, /**< somebody ordered it */
    RTE_PMD_HOLDFAST_FIRST = 4,   /**< there was none */
};

/**
 * Hears of switches: called after each, by a thread of Holdfast's, with no lock held. It may call what in this header
 * does not wait (get, active, places, is_port, switch, pin, unpin, callback functions) and ethdev's functions. Switches
 * that follow each other faster than it returns may come as one.
 *
 * @param from, to  places; -1: nobody
 * @param why       an enum rte_pmd_holdfast_why
 */
typedef void (*rte_pmd_holdfast_switch_fn)(uint16_t port_id, int from, int to, int why, void *arg);

/**
 * Registers a function; it ends with the port.
 * @return -EEXIST: it is registered with this argument
 */
int rte_pmd_holdfast_callback_register(uint16_t port_id, rte_pmd_holdfast_switch_fn function, void *arg);

/**
 * It is not called any more when this returns; inside itself, after it has returned.
 * @return -ENOENT: it was not registered
 */
int rte_pmd_holdfast_callback_unregister(uint16_t port_id, rte_pmd_holdfast_switch_fn function, void *arg);

#ifdef __cplusplus
}
#endif
