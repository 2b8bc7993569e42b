// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "driver/devargs_part.h"
#include "port/config.h"

#include <bitset>

namespace holdfast {

/// The keys of a virtual port whose values are one number or one word. Remembers which were given: each may be given
/// once.
class PlainKeys {
  public:
    /// Is the item such a key with its value? Then `error` is what is wrong with it, if anything is.
    bool read(const Part &item, Config &out, Error &error);

  private:
    std::bitset<32> given_;
};

} // namespace holdfast
