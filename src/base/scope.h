// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <utility>

namespace holdfast {

/// Runs its action at the end of the scope unless success() was called: one place that undoes a step.
template <class F> class [[nodiscard]] OnFailure {
  public:
    explicit OnFailure(F action) noexcept : action_(std::move(action)) {
        static_assert(noexcept(std::declval<F &>()()), "an undo step must not throw");
    }
    OnFailure(const OnFailure &) = delete;
    OnFailure &operator=(const OnFailure &) = delete;
    ~OnFailure() {
        if (armed_)
            action_();
    }
    void success() noexcept { armed_ = false; }

  private:
    F action_;
    bool armed_ = true;
};

} // namespace holdfast
