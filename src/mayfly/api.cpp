// SPDX-License-Identifier: BSD-3-Clause
// The C API: commands. Everything C calls is made by run(), which lets no exception out.
#include "mayfly/api.h"

#include "mayfly/arena.h"
#include "mayfly/director.h"

#include <cstdio>

namespace {

using namespace holdfast;
using namespace holdfast::mayfly;

/// A command now, in this thread, or later, in the director's.
int order(Device &device, const Command &command, unsigned flags) {
    if ((flags & ~RTE_PMD_MAYFLY_SYNC) != 0)
        return -EINVAL;
    if ((flags & RTE_PMD_MAYFLY_SYNC) != 0)
        return device.execute(command).code();
    return director().post(device, command);
}

} // namespace

int rte_pmd_mayfly_unplug(const char *name, unsigned int flags) {
    return run(name, [flags](Device &device) { return order(device, {.kind = Command::Kind::kUnplug}, flags); });
}

int rte_pmd_mayfly_unplug_planned(const char *name, unsigned int flags) {
    return run(name, [flags](Device &device) { return order(device, {.kind = Command::Kind::kPlanned}, flags); });
}

int rte_pmd_mayfly_plug(const char *name) {
    return run(name, [](Device &device) { return device.plug().code(); });
}

int rte_pmd_mayfly_link(const char *name, int up, unsigned int flags) {
    const auto kind = up != 0 ? Command::Kind::kLinkUp : Command::Kind::kLinkDown;
    return run(name, [=](Device &device) { return order(device, {.kind = kind}, flags); });
}

int rte_pmd_mayfly_fail(const char *name, const char *op, int32_t calls, int error) {
    return run(name, op, [=](Device &device, Op known) {
        const int number = error < 0 ? -error : error;
        if (calls < -1 || (calls != 0 && (number == 0 || number > 4095)) || traits(known).cannot_fail)
            return -EINVAL;
        device.faults.fail(known, calls, number);
        return 0;
    });
}

int rte_pmd_mayfly_delay(const char *name, const char *op, uint32_t microseconds) {
    return run(name, op, [=](Device &device, Op known) {
        if (microseconds > (traits(known).fast ? kMaxBurstDelayUs : kMaxDelayUs))
            return -EINVAL;
        device.faults.delay(known, microseconds);
        return 0;
    });
}

int rte_pmd_mayfly_raise(const char *name, int event, unsigned int flags) {
    return run(name, [=](Device &device) {
        if (!is_event(event))
            return -EINVAL;
        if (!device.has_port())
            return -ENODEV;
        return order(device, {.kind = Command::Kind::kEvent, .event = event}, flags);
    });
}

int rte_pmd_mayfly_recover(const char *name, int step, unsigned int flags) {
    return run(name, [=](Device &device) {
        switch (step) {
        case RTE_PMD_MAYFLY_RECOVERING:
            return order(device, {.kind = Command::Kind::kRecovering}, flags);
        case RTE_PMD_MAYFLY_RECOVERED:
            return order(device, {.kind = Command::Kind::kRecovered}, flags);
        case RTE_PMD_MAYFLY_RECOVERY_FAILED:
            return order(device, {.kind = Command::Kind::kRecoveryFailed}, flags);
        default:
            return -EINVAL;
        }
    });
}

int rte_pmd_mayfly_reset(const char *name, unsigned int flags) {
    return run(name, [flags](Device &device) { return order(device, {.kind = Command::Kind::kReset}, flags); });
}

int rte_pmd_mayfly_raise_in(const char *name, const char *op, int event) {
    return run(name, op, [=](Device &device, Op known) {
        if (!is_event(event))
            return -EINVAL;
        device.faults.raise_in(known, event);
        return 0;
    });
}

int rte_pmd_mayfly_unplug_in(const char *name, const char *op) {
    return run(name, op, [](Device &device, Op known) {
        device.faults.unplug_in(known);
        return 0;
    });
}

int rte_pmd_mayfly_clear(const char *name) {
    return run(name, [](Device &device) {
        device.faults.clear();
        return 0;
    });
}

int rte_pmd_mayfly_script(const char *name, const char *script, char *error, size_t error_size) {
    return run(name, [=](Device &device) {
        std::vector<Step> steps;
        std::string why = "no script";
        if (script == nullptr || !parse_script(script, steps, why)) {
            if (error != nullptr && error_size != 0)
                std::snprintf(error, error_size, "%s", why.c_str());
            return -EINVAL;
        }
        (void)device.new_script(script);
        return director().play(device, steps);
    });
}

int rte_pmd_mayfly_wait(const char *name, uint32_t milliseconds) {
    return run(name, [=](Device &device) {
        return director().wait(device, std::chrono::milliseconds(milliseconds)) ? 0 : -ETIMEDOUT;
    });
}

int rte_pmd_mayfly_catch_late(int on) {
    if (on != 0 && on != 1)
        return -EINVAL;
    catch_late(on == 1);
    return 0;
}
